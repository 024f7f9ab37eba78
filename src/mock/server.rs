//! The server: from a request to its answer.

use std::{
    collections::HashMap,
    io,
    net::SocketAddr,
    sync::{
        Arc, Mutex, MutexGuard, OnceLock, PoisonError, RwLock,
        atomic::{AtomicU32, AtomicU64, Ordering},
    },
    time::Duration,
};

use axum::{
    Json, Router,
    body::{Body, Bytes},
    extract::{ConnectInfo, DefaultBodyLimit, State, rejection::BytesRejection},
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header},
    response::Response,
    routing::{get, post},
};
use secrecy::ExposeSecret;
use tokio::{
    net::{TcpListener, TcpSocket},
    sync::oneshot,
    task::JoinHandle,
    time::{Instant, sleep},
};

use super::{
    account::{Account, Demand},
    cut_connections::{Line, Listener},
    dialect::DIALECTS,
    exchange::{Answer, Dialect, Problem, Question, StreamOptions, body_hash, request_id},
    faults::{self, Fate, Fault},
    find_case::Book,
    limits::{self, Reading},
    script::{self, Step},
    settings::MockSettings,
    stats::{Counters, Ending, MockStats},
    visit::Visit,
};
use crate::{
    domain::{Case, LimitDimension, Outcome, Repeat, TargetName, Usage},
    providers::simulator::{
        Breakpoint, CacheUse, PrefixCache, SimulatedAnswer, SimulatedModel, SimulatedTarget,
    },
};

/// The largest body that is read: Anthropic's own limit.
const MAX_BODY_BYTES: usize = 32 << 20;

/// How many connections may wait to be taken.
const WAITING: u32 = 4_096;

/// What a proxy in front of a server may send in place of JSON.
const PROXY_PAGE: &str = "<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n<body>\r\n\
                          <center><h1>502 Bad Gateway</h1></center>\r\n</body>\r\n</html>\r\n";

/// Listens at `address`, with room for a few thousand connections that nobody has taken yet: who opens
/// that many at once would else wait a second for each that finds no room, and measure that.
///
/// # Errors
/// If the address is not to be had.
pub fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    // A server that ended a moment ago holds no port back; elsewhere this means something else.
    if cfg!(unix) {
        socket.set_reuseaddr(true)?;
    }
    socket.bind(address)?;
    socket.listen(WAITING)
}

/// Serves the mock on `listener` until `shutdown` resolves; requests in flight are then answered.
///
/// # Errors
/// If the listener fails.
pub async fn serve(
    listener: TcpListener,
    settings: MockSettings,
    cases: Vec<Arc<Case>>,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> io::Result<()> {
    serve_state(listener, Arc::new(Server::new(settings, cases)), shutdown).await
}

async fn serve_state(
    listener: TcpListener,
    server: Arc<Server>,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> io::Result<()> {
    let mut router = Router::new();
    for &dialect in DIALECTS {
        for path in dialect.paths {
            let answer = async move |State(server), ConnectInfo(line), headers, body| {
                respond(server, dialect, line, headers, body).await
            };
            router = router.route(path, post(answer));
        }
    }
    let router = router
        .route("/stats", get(async |State(server): State<Arc<Server>>| Json(server.stats())))
        .route("/stats/reset", post(async |State(server): State<Arc<Server>>| server.counters().reset()))
        .layer(DefaultBodyLimit::max(MAX_BODY_BYTES))
        .with_state(server)
        .into_make_service_with_connect_info::<Line>();
    axum::serve(Listener(listener), router).with_graceful_shutdown(shutdown).await
}

/// A mock server on a free port of this machine, for tests and rehearsals.
///
/// Dropping it stops it, too, without waiting for what is in flight.
#[derive(Debug)]
pub struct MockServer {
    address: SocketAddr,
    server: Arc<Server>,
    stop: oneshot::Sender<()>,
    task: JoinHandle<io::Result<()>>,
}

impl MockServer {
    /// Starts a server that answers from `cases`.
    ///
    /// # Errors
    /// If no port is to be had.
    pub async fn start(settings: MockSettings, cases: Vec<Arc<Case>>) -> io::Result<Self> {
        let listener = listen(SocketAddr::from(([127, 0, 0, 1], 0)))?;
        let address = listener.local_addr()?;
        let server = Arc::new(Server::new(settings, cases));
        let (stop, stopped) = oneshot::channel();
        // A sender that is dropped stops the server as well.
        let shutdown = async {
            let _ = stopped.await;
        };
        let task = tokio::spawn(serve_state(listener, Arc::clone(&server), shutdown));
        Ok(Self { address, server, stop, task })
    }

    /// The server's address, such as `http://127.0.0.1:40123`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// What it saw so far.
    pub fn stats(&self) -> MockStats {
        self.server.stats()
    }

    /// Stops it once what is in flight has been answered.
    ///
    /// # Errors
    /// If the server ended with an error.
    pub async fn stop(self) -> io::Result<()> {
        // It may have ended by itself already.
        let _ = self.stop.send(());
        self.task.await.map_err(io::Error::other)?
    }
}

#[derive(Debug)]
pub(super) struct Server {
    settings: MockSettings,
    book: Book,
    /// Some model has a prompt cache, so that prompts must be cut into prefixes.
    has_cache: bool,
    models: RwLock<HashMap<String, Arc<Model>>>,
    account: Account,
    cache: Mutex<PrefixCache>,
    counters: Arc<Mutex<Counters>>,
    requests: AtomicU64,
}

/// A model's name, and what is remembered of each case that it was asked.
#[derive(Debug)]
struct Model {
    name: TargetName,
    cases: Vec<CaseState>,
}

#[derive(Debug, Default)]
struct CaseState {
    pass_probability: OnceLock<f64>,
    /// Repeats that were answered.
    answered: AtomicU32,
}

impl Server {
    fn new(settings: MockSettings, cases: Vec<Arc<Case>>) -> Self {
        let has_cache = settings.models.values().chain([&settings.model]).any(|model| model.cache.is_some());
        Self {
            has_cache,
            book: Book::new(cases),
            models: RwLock::default(),
            account: Account::new(&settings),
            cache: Mutex::default(),
            counters: Arc::new(Mutex::new(Counters::new())),
            requests: AtomicU64::new(0),
            settings,
        }
    }

    fn stats(&self) -> MockStats {
        self.counters().snapshot(self.settings.price.as_ref())
    }

    fn counters(&self) -> MutexGuard<'_, Counters> {
        lock(&self.counters)
    }

    /// Whether `headers` carry the key, if one is asked for.
    fn has_key(&self, headers: &HeaderMap) -> bool {
        let Some(key) = &self.settings.api_key else {
            return true;
        };
        let header = |name: HeaderName| headers.get(name).and_then(|value| value.to_str().ok());
        let given = header(HeaderName::from_static("x-api-key"))
            .or_else(|| header(header::AUTHORIZATION)?.strip_prefix("Bearer "));
        given == Some(key.expose_secret())
    }

    /// What `question` is expected to need.
    fn demand(&self, question: &Question) -> Demand {
        Demand { input: self.input_tokens(question), max_output: question.max_tokens }
    }

    fn input_tokens(&self, question: &Question) -> u64 {
        let tokens = &self.settings_of(&question.model).tokens;
        tokens.input.unwrap_or_else(|| tokens.of_chars(question.prompt_chars))
    }

    fn model(&self, name: &str) -> Arc<Model> {
        if let Some(model) = self.models.read().unwrap_or_else(PoisonError::into_inner).get(name) {
            return Arc::clone(model);
        }
        let mut models = self.models.write().unwrap_or_else(PoisonError::into_inner);
        let model = models.entry(name.to_owned()).or_insert_with(|| {
            let cases = (0..self.book.len()).map(|_| CaseState::default()).collect();
            Arc::new(Model { name: name.into(), cases })
        });
        Arc::clone(model)
    }

    fn settings_of(&self, model: &str) -> &SimulatedTarget {
        self.settings.models.get(model).unwrap_or(&self.settings.model)
    }

    /// What `question` is answered, and the latency of the model itself. An answer that is not
    /// `counted` leaves the case at the same repeat.
    fn simulate(&self, question: &Question, counted: bool) -> (SimulatedAnswer, Duration) {
        let settings = self.settings_of(&question.model);
        let Some(index) = self.book.find(&question.text) else {
            self.counters().no_case();
            let answer = SimulatedAnswer {
                outcome: Outcome::Answered,
                text: question.text.clone(),
                output_tokens: settings.tokens.of_chars(question.text.chars().count()),
            };
            return (answer, Duration::ZERO);
        };
        let model = self.model(&question.model);
        let simulated = SimulatedModel { seed: self.settings.seed, name: &model.name, settings };
        let case = self.book.case(index);
        let state = &model.cases[index];
        let probability = *state.pass_probability.get_or_init(|| simulated.pass_probability(case));
        let earlier = if counted {
            state.answered.fetch_add(1, Ordering::Relaxed)
        } else {
            state.answered.load(Ordering::Relaxed)
        };
        let repeat = Repeat(earlier.saturating_add(1));
        let answer = simulated.answer_at(probability, case, repeat, question.max_tokens);
        (answer, simulated.latency(case, repeat, 0))
    }

    /// Tokens of an answer that begins after `latency`.
    fn usage(&self, question: &Question, output: u64, latency: Duration) -> Usage {
        let settings = self.settings_of(&question.model);
        let tokens = &settings.tokens;
        let input = self.input_tokens(question);
        let used = settings.cache.map_or(CacheUse::default(), |cache| {
            let breakpoints: Vec<Breakpoint> = question
                .prefixes
                .iter()
                .map(|prefix| Breakpoint {
                    key: prefix.key,
                    tokens: tokens.of_chars(prefix.chars).min(input),
                })
                .filter(|breakpoint| breakpoint.tokens >= cache.min_tokens)
                .collect();
            let lifetime = if question.for_one_hour { 3600.0 } else { cache.ttl_s };
            let lifetime = Duration::try_from_secs_f64(lifetime).unwrap_or(Duration::MAX);
            let now = Instant::now();
            lock(&self.cache).visit(&breakpoints, now, now + latency, lifetime)
        });
        let (written_5m, written_1h) =
            if question.for_one_hour { (0, used.written) } else { (used.written, 0) };
        Usage {
            input_uncached: input - used.read - used.written,
            cache_read: used.read,
            cache_write_5m: written_5m,
            cache_write_1h: written_1h,
            output,
            ..Usage::default()
        }
    }
}

async fn respond(
    server: Arc<Server>,
    dialect: &'static Dialect,
    line: Line,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Response {
    let number = server.requests.fetch_add(1, Ordering::Relaxed) + 1;
    let in_minute = server.counters().arrived(Instant::now());
    let visit = Visit::new(Arc::clone(&server.counters));
    let mut call = Call { server: Arc::clone(&server), dialect, number, readings: vec![] };

    if !server.has_key(&headers) {
        return call.refuse(visit, &Problem::Key);
    }
    let question = match body {
        Ok(body) => (dialect.parse)(&body, server.has_cache).map(|question| (question, body_hash(&body))),
        Err(rejection) if rejection.status() == StatusCode::PAYLOAD_TOO_LARGE => Err(Problem::TooLarge),
        Err(rejection) => Err(Problem::Request(rejection.body_text())),
    };
    // What cannot be read counts as a request, too.
    let demand = question.as_ref().map_or(Demand::default(), |(question, _)| server.demand(question));
    let admission = server.account.admit(demand, in_minute);
    call.readings = admission.readings;
    let settings = &server.settings;
    if let Some((dimension, wait)) = admission.refused {
        return call.refuse_for(visit, dimension, wait, settings.whole_seconds);
    }
    let (question, hash) = match question {
        Ok(question) => question,
        Err(problem) => return call.refuse(visit, &problem),
    };
    let earlier = server.counters().body(hash);
    let fate = faults::draw(settings.seed, &settings.faults, &settings.latency, hash, earlier);
    if fate.fault == Some(Fault::RateLimited) {
        server.account.settle(demand, None);
        let wait = seconds(settings.rate_limited_wait_s);
        return call.refuse_for(visit, LimitDimension::Requests, wait, settings.whole_seconds);
    }

    let counted = matches!(fate.fault, None | Some(Fault::Stalled | Fault::Slow));
    let (answer, own_latency) = server.simulate(&question, counted);
    let mut latency = fate.latency.saturating_add(own_latency);
    if let (Some(_), Some(first_token_ms)) = (question.stream, settings.stream.first_token_ms) {
        latency = seconds(first_token_ms / 1e3);
    }
    if fate.fault == Some(Fault::Slow) {
        latency = latency.saturating_add(seconds(settings.slow_s));
    }
    let problem = match fate.fault {
        Some(Fault::ServerError) => Some(Problem::Server),
        Some(Fault::Overloaded) => Some(Problem::Overloaded),
        _ => None,
    };
    if let Some(problem) = &problem
        && (question.stream.is_none() || fate.at_start)
    {
        pause(latency).await;
        server.account.settle(demand, None);
        return call.refuse(visit, problem);
    }
    let usage = server.usage(&question, answer.output_tokens, latency);
    pause(latency).await;
    server.account.settle(demand, Some(&usage));

    let returned = server.settings_of(&question.model).model.as_deref().unwrap_or(&question.model);
    let answer = Answer { number, model: returned, outcome: answer.outcome, text: &answer.text, usage };
    call.answer(visit, &line, fate, &answer, question.stream, problem.as_ref()).await
}

/// What every response to one request has in common.
struct Call {
    server: Arc<Server>,
    dialect: &'static Dialect,
    number: u64,
    readings: Vec<Reading>,
}

impl Call {
    /// An answer, as whole as `fate` allows; `problem` is what ends it if it is a stream.
    async fn answer(
        &self,
        mut visit: Visit,
        line: &Line,
        fate: Fate,
        answer: &Answer<'_>,
        stream: Option<StreamOptions>,
        problem: Option<&Problem>,
    ) -> Response {
        let ending = match fate.fault {
            Some(Fault::Dropped { .. }) => Ending::Dropped,
            Some(Fault::Half | Fault::Html) => Ending::Malformed,
            _ if problem.is_some() => Ending::Broken,
            _ => Ending::Answered(answer.usage),
        };
        visit.will_end(ending);
        if let Some(Fault::Dropped { after }) = fate.fault
            && (stream.is_none() || fate.at_start)
        {
            line.cut_after(after);
        }
        let mut fault = None;
        if fate.fault == Some(Fault::Stalled) {
            self.server.counters().fell_silent();
            let silence = self.server.settings.stall_s.map_or(Step::Hang, |time| Step::Wait(seconds(time)));
            if !fate.at_start {
                fault = Some(vec![silence]);
            } else if let Step::Wait(time) = silence {
                sleep(time).await;
            } else {
                std::future::pending::<()>().await;
            }
        }
        if fate.fault == Some(Fault::Html) {
            visit.went_out();
            return self.identified(reply(StatusCode::OK, "text/html", Body::from(PROXY_PAGE)));
        }
        let (kind, steps) = if let Some(options) = stream {
            self.server.counters().streams();
            if let Some(problem) = problem {
                let (_, body) = (self.dialect.failure)(problem, self.number);
                let body = String::from_utf8(body).expect("errors are written as text");
                let event = (self.dialect.error_event)(&body);
                fault = Some(vec![Step::Send(event.into())]);
            }
            match fate.fault {
                Some(Fault::Dropped { .. }) => fault = Some(vec![Step::Break]),
                // An event that ends in the middle of its JSON.
                Some(Fault::Half) => fault = Some(vec![Step::Send(Bytes::from_static(b"data: {\"id\n\n"))]),
                _ => {}
            }
            let gap = seconds(self.server.settings.stream.event_ms / 1e3);
            ("text/event-stream", script::steps((self.dialect.events)(answer, options), gap, fault))
        } else {
            let mut body = (self.dialect.success)(answer);
            if fate.fault == Some(Fault::Half) {
                body.truncate(body.len() / 2);
            }
            let Some(silence) = fault else {
                visit.went_out();
                return self.identified(reply(StatusCode::OK, "application/json", Body::from(body)));
            };
            let rest = body.split_off(body.len() / 2);
            let halves = [Step::Send(body.into())].into_iter().chain(silence);
            ("application/json", halves.chain([Step::Send(rest.into())]).collect())
        };
        self.identified(reply(StatusCode::OK, kind, script::body(steps, visit)))
    }

    /// The answer to a request that gets none.
    fn refuse(&self, mut visit: Visit, problem: &Problem) -> Response {
        let (status, body) = (self.dialect.failure)(problem, self.number);
        let status = StatusCode::from_u16(status).expect("the dialects' statuses have three digits");
        visit.will_end(Ending::Status(status.as_u16()));
        visit.went_out();
        self.identified(reply(status, "application/json", Body::from(body)))
    }

    /// The answer to a request that comes too early.
    fn refuse_for(
        &self,
        visit: Visit,
        dimension: LimitDimension,
        wait: Duration,
        whole_seconds: bool,
    ) -> Response {
        let mut response = self.refuse(visit, &Problem::RateLimit(dimension));
        limits::write_wait(wait, whole_seconds, response.headers_mut());
        response
    }

    fn identified(&self, mut response: Response) -> Response {
        let headers = response.headers_mut();
        let id = HeaderValue::from_str(&request_id(self.number)).expect("ids are ASCII");
        headers.insert(HeaderName::from_static(self.dialect.request_id_header), id);
        for reading in &self.readings {
            reading.write(self.dialect, headers);
        }
        response
    }
}

fn seconds(time: f64) -> Duration {
    Duration::try_from_secs_f64(time).unwrap_or(Duration::MAX)
}

async fn pause(latency: Duration) {
    if !latency.is_zero() {
        sleep(latency).await;
    }
}

fn reply(status: StatusCode, kind: &'static str, body: Body) -> Response {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}

/// No panic can leave what is locked half changed, so a poisoned lock is as good as a whole one.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
