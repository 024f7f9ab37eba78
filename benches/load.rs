//! The whole program under load, against a mock server on this machine: throughput, latency, limits,
//! start-up, memory, CPU. Prints the rows of `docs/performance.md`. Linux only (it reads `/proc`).
//!
//! ```sh
//! cargo install oha --locked --no-default-features --features rustls    # the load generator
//! cargo bench --bench load                  # all rows
//! cargo bench --bench load -- limits zero   # those whose names contain one of the words
//! ```
//!
//! Without `oha` (or `OHA=/path/to/oha`) the rows stand without what it reaches. `pinned` and `share` give
//! the server one core and whoever asks another (`taskset`), in turn and several times, so that they can
//! be compared on a machine that is not quiet; `PROGRAM=/path/to/another/caseload` measures that one, and
//! `SERVER=` says whose `serve-mock` answers, so that two versions can be asked by the same one.

#![expect(clippy::print_stdout, reason = "the rows are what it is for")]

use std::{
    env, fs,
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread::sleep,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use tempfile::TempDir;

/// The program that is measured.
fn program() -> String {
    env::var("PROGRAM").unwrap_or_else(|_| env!("CARGO_BIN_EXE_caseload").to_owned())
}

/// The program whose `serve-mock` answers.
fn server_program() -> String {
    env::var("SERVER").unwrap_or_else(|_| program())
}

/// A command for `program`, on one core only where one is named.
fn on_core(core: Option<&str>, program: &str) -> Command {
    match core {
        Some(core) => {
            let mut command = Command::new("taskset");
            command.args(["-c", core, program]);
            command
        }
        None => Command::new(program),
    }
}

/// The core of a pinned server, and that of whoever asks it.
const CORES: [&str; 2] = ["0", "1"];

fn main() {
    // Cargo hands `--bench` over; the rest are words that choose rows.
    let words: Vec<String> = env::args().skip(1).filter(|word| !word.starts_with("--")).collect();
    let wanted = |name: &str| words.is_empty() || words.iter().any(|word| name.contains(word.as_str()));
    let rows: [(&str, fn()); 12] = [
        ("startup", startup),
        ("zero", zero_latency),
        ("pinned", pinned),
        ("share", share),
        ("slow-start", slow_start),
        ("latency-64", latency_64),
        ("latency-512", latency_512),
        ("limits", limits),
        ("in-flight", in_flight),
        ("large", large_answers),
        ("million", million),
        ("compare", compare),
    ];
    for (name, row) in rows.into_iter().filter(|(name, _)| wanted(name)) {
        println!("## {name}");
        row();
        println!();
    }
}

/// What a process took.
struct Taken {
    wall: Duration,
    cpu_s: f64,
    peak_mb: f64,
    stdout: String,
}

/// Runs a command to its end and watches what it takes.
fn watch(mut command: Command) -> Taken {
    let begun = Instant::now();
    let mut child = command.stdout(Stdio::piped()).spawn().expect("the program can be started");
    let mut stdout = child.stdout.take().expect("stdout is piped");
    let reader = std::thread::spawn(move || {
        let mut bytes = vec![];
        stdout.read_to_end(&mut bytes).expect("stdout can be read");
        String::from_utf8_lossy(&bytes).into_owned()
    });
    let folder = PathBuf::from(format!("/proc/{}", child.id()));
    let mut peak_kb = 0.0;
    let (mut wall, mut cpu_s);
    loop {
        wall = begun.elapsed();
        let status = fs::read_to_string(folder.join("status")).unwrap_or_default();
        if let Some(line) = status.lines().find(|line| line.starts_with("VmHWM")) {
            peak_kb =
                line.split_whitespace().nth(1).and_then(|number| number.parse().ok()).unwrap_or(peak_kb);
        }
        // The counters outlive the process until somebody waits for it.
        let stat = fs::read_to_string(folder.join("stat")).unwrap_or_default();
        let fields: Vec<&str> =
            stat.rsplit_once(')').map_or(vec![], |(_, rest)| rest.split_whitespace().collect());
        let ticks = |at: usize| fields.get(at).and_then(|field| field.parse::<f64>().ok()).unwrap_or(0.0);
        cpu_s = (ticks(11) + ticks(12)) / 100.0;
        if fields.first() == Some(&"Z") {
            break;
        }
        sleep(Duration::from_millis(2));
    }
    let status = child.wait().expect("the program can be waited for");
    assert!(status.success(), "{command:?} ended with {status}");
    Taken { wall, cpu_s, peak_mb: peak_kb / 1e3, stdout: reader.join().expect("reading does not panic") }
}

/// A folder with a golden set and an experiment.
struct Bench {
    folder: TempDir,
    cases: usize,
    /// The core for whoever asks.
    core: Option<&'static str>,
}

impl Bench {
    /// `cases` questions, each with right and wrong answers of about `answer_bytes`.
    fn new(cases: usize, answer_bytes: usize) -> Self {
        let folder = match env::var_os("CASELOAD_BENCH_FOLDER") {
            Some(folder) => TempDir::new_in(folder),
            None => TempDir::new(),
        };
        let folder = folder.expect("a temporary folder can be made");
        let filler = "The answer has a few words more. ".repeat(answer_bytes.div_ceil(33));
        let file = fs::File::create(folder.path().join("golden.jsonl")).expect("a file can be made");
        let mut file = std::io::BufWriter::new(file);
        for number in 0..cases {
            let line = json!({
                "id": format!("c{number}"),
                "cluster": format!("k{}", number / 4),
                "segment": {"intent": (["billing", "refund", "other"][number % 3])},
                "input": format!("question number {number}: {}", "why was I charged twice? ".repeat(6)),
                "expected": {"must_contain": [format!("right {number}")]},
                "graders": [{"kind": "words"}],
                "examples": {
                    "pass": [format!("It is right {number}. {filler}")],
                    "fail": [format!("It is wrong. {filler}")],
                },
            });
            writeln!(file, "{line}").expect("a line can be written");
        }
        file.flush().expect("the golden set can be written");
        Self { folder, cases, core: None }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn server(&self, arguments: &[&str]) -> Server {
        self.server_on(None, arguments)
    }

    fn server_on(&self, core: Option<&str>, arguments: &[&str]) -> Server {
        let golden = self.path("golden.jsonl");
        let golden = golden.to_str().expect("paths are UTF-8");
        Server::start(core, &[&["--golden", golden], arguments].concat())
    }

    /// Runs all cases `repeats` times against `server`, with these further `limits`.
    fn run(&self, server: &Server, dialect: &str, repeats: u32, limits: &str) -> Taken {
        let path = if dialect == "openai" { "/v1" } else { "" };
        self.run_target(
            &format!(
                "provider = \"p\"\nmodel = \"m\"\nmax_tokens = 20000\n[provider.p]\nkind = \"{dialect}\"\n\
                 base_url = \"{}{path}\"\napi_key_env = \"CASELOAD_BENCH_KEY\"\nlimits = {{ {limits} }}\n",
                server.url
            ),
            repeats,
        )
    }

    fn run_target(&self, target: &str, repeats: u32) -> Taken {
        let text = format!(
            "name = \"load\"\ngolden = \"golden.jsonl\"\nrepeats = {repeats}\n[[target]]\nname = \"t\"\n{target}"
        );
        fs::write(self.path("load.toml"), text).expect("an experiment can be written");
        self.forget_store();
        self.again()
    }

    /// The last run's experiment once more, into the store as it is.
    fn again(&self) -> Taken {
        watch(self.caseload(&["run", "load.toml", "--json"]))
    }

    fn forget_store(&self) {
        for name in ["store.db", "store.db-wal", "store.db-shm"] {
            let _ = fs::remove_file(self.path(name));
        }
    }

    fn caseload(&self, arguments: &[&str]) -> Command {
        let mut command = on_core(self.core, &program());
        command
            .args(arguments)
            .current_dir(self.folder.path())
            .env("CASELOAD_STORE", self.path("store.db"))
            .env("CASELOAD_BENCH_KEY", "none")
            .stderr(Stdio::null());
        command
    }

    /// The load generator with the first case's body: requests a second and the time it took.
    fn oha(&self, server: &Server, requests: u64, connections: u32) -> Option<f64> {
        let body = json!({
            "model": "m", "max_tokens": 200,
            "messages": [{"role": "user", "content": format!("question number 0: {}", "why was I charged twice? ".repeat(6))}],
        });
        let program = env::var("OHA").unwrap_or_else(|_| "oha".to_owned());
        let mut command = on_core(self.core, &program);
        command
            .args(["--no-tui", "--output-format", "json", "-m", "POST", "-T", "application/json"])
            .args(["-n", &requests.to_string(), "-c", &connections.to_string(), "-d", &body.to_string()])
            .arg(format!("{}/v1/chat/completions", server.url))
            .stderr(Stdio::null());
        let output = command.output().ok()?;
        let told: Value = serde_json::from_slice(&output.stdout).ok()?;
        // A generator that gets something else is fast at something else.
        let answered = told["statusCodeDistribution"]["200"].as_u64();
        if answered != Some(requests) {
            println!("oha got {} {}", told["statusCodeDistribution"], told["errorDistribution"]);
            return None;
        }
        told["summary"]["total"].as_f64()
    }
}

/// `caseload serve-mock` as a process of its own.
struct Server {
    child: Child,
    url: String,
}

impl Server {
    fn start(core: Option<&str>, arguments: &[&str]) -> Self {
        let mut command = on_core(core, &server_program());
        command.args(["serve-mock", "--listen", "127.0.0.1:0"]).args(arguments);
        let mut child =
            command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("the server can be started");
        let mut line = String::new();
        let stdout = child.stdout.as_mut().expect("stdout is piped");
        BufReader::new(stdout).read_line(&mut line).expect("the server tells its address");
        Self { child, url: line.trim().to_owned() }
    }

    /// `GET /stats`.
    fn stats(&self) -> Value {
        let body = self.http("GET", "/stats");
        serde_json::from_str(&body).expect("the statistics are JSON")
    }

    fn reset(&self) {
        self.http("POST", "/stats/reset");
    }

    fn http(&self, method: &str, path: &str) -> String {
        let address = self.url.trim_start_matches("http://");
        let mut stream = TcpStream::connect(address).expect("the server listens");
        let request = format!(
            "{method} {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
        );
        stream.write_all(request.as_bytes()).expect("a request can be written");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("the answer is text");
        answer.split_once("\r\n\r\n").map(|(_, body)| body.to_owned()).unwrap_or_default()
    }

    fn sending_s(&self) -> f64 {
        self.stats()["sending_s"].as_f64().expect("something was sent")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn or_dash(number: Option<f64>, digits: usize) -> String {
    number.map_or_else(|| "-".to_owned(), |number| format!("{number:.digits$}"))
}

fn startup() {
    let mut times: Vec<Duration> = (0..21)
        .map(|_| {
            let mut command = Command::new(program());
            let begun = Instant::now();
            command.arg("--version").output().expect("the program can be started");
            begun.elapsed()
        })
        .collect();
    times.sort();
    println!("--version, median of 21: {:.1} ms", times[10].as_secs_f64() * 1e3);

    let bench = Bench::new(5_000, 100);
    let server = bench.server(&["--latency-ms", "60000"]);
    let mut firsts = vec![];
    for _ in 0..7 {
        server.reset();
        bench.forget_store();
        let text = format!(
            "name = \"load\"\ngolden = \"golden.jsonl\"\n[[target]]\nname = \"t\"\nprovider = \"p\"\nmodel = \"m\"\n\
             [provider.p]\nkind = \"openai\"\nbase_url = \"{}/v1\"\n",
            server.url
        );
        fs::write(bench.path("load.toml"), text).expect("an experiment can be written");
        let before = server.stats()["requests"].as_u64();
        let begun = Instant::now();
        let mut child =
            bench.caseload(&["run", "load.toml", "-q"]).stdout(Stdio::null()).spawn().expect("it starts");
        while server.stats()["requests"].as_u64() == before {
            assert!(begun.elapsed() < Duration::from_secs(20), "no request came");
            // Whoever asks without a break takes a core from the two that are measured.
            sleep(Duration::from_millis(2));
        }
        firsts.push(begun.elapsed());
        let _ = child.kill();
        let _ = child.wait();
    }
    firsts.sort();
    println!("first request of a run of 5,000 cases, median of 7: {:.0} ms", firsts[3].as_secs_f64() * 1e3);
}

/// One run and one load generator's run against the same server.
fn beside_the_generator(cases: usize, in_flight: u32, server_arguments: &[&str], ideal_s: Option<f64>) {
    let bench = Bench::new(cases, 130);
    let server = bench.server(server_arguments);
    println!("| | sending s | requests/s | of the ideal | of oha's | CPU µs a trial | peak MB |");
    println!("| --- | --- | --- | --- | --- | --- | --- |");
    let oha = bench.oha(&server, cases as u64, in_flight);
    server.reset();
    let taken = bench.run(&server, "openai", 1, &format!("max_in_flight = {in_flight}"));
    let sending = server.sending_s();
    let again = bench.oha(&server, cases as u64, in_flight);
    let oha = [oha, again].into_iter().flatten().reduce(f64::min);
    let of_ideal = |time: f64| or_dash(ideal_s.map(|ideal| time / ideal), 3);
    if let Some(time) = oha {
        println!("| oha | {time:.3} | {:.0} | {} | 1 | | |", cases as f64 / time, of_ideal(time));
    }
    println!(
        "| caseload | {sending:.3} | {:.0} | {} | {} | {:.1} | {:.0} |",
        cases as f64 / sending,
        of_ideal(sending),
        or_dash(oha.map(|time| sending / time), 3),
        taken.cpu_s * 1e6 / cases as f64,
        taken.peak_mb
    );
    check(&taken, cases as u64);
}

/// Everything was graded.
fn check(taken: &Taken, trials: u64) {
    let card: Value = serde_json::from_str(&taken.stdout).expect("a run prints its scorecard");
    assert_eq!(card["targets"][0]["graded"], trials, "trials are missing");
}

fn zero_latency() {
    beside_the_generator(20_000, 256, &[], None);
}

/// Server and runner on a core of their own: CPU a trial, start and scorecard included.
fn pinned() {
    let bench = Bench { core: Some(CORES[1]), ..Bench::new(20_000, 130) };
    let server = bench.server_on(Some(CORES[0]), &[]);
    let mut costs: Vec<f64> = (0..5)
        .map(|_| {
            let taken = bench.run(&server, "openai", 1, "max_in_flight = 256");
            check(&taken, bench.cases as u64);
            taken.cpu_s * 1e6 / bench.cases as f64
        })
        .collect();
    costs.sort_by(f64::total_cmp);
    println!(
        "20,000 trials at 256 in flight, no latency, server and runner on a core each: CPU a trial {:.1} µs \
         (best of 5; median {:.1})",
        costs[0], costs[2]
    );
}

/// The same beside the load generator, which has the same core in turn.
fn share() {
    let bench = Bench { core: Some(CORES[1]), ..Bench::new(100_000, 130) };
    let server = bench.server_on(Some(CORES[0]), &[]);
    let mut shares: Vec<f64> = (0..3)
        .filter_map(|_| {
            let generator = bench.oha(&server, bench.cases as u64, 256)?;
            server.reset();
            check(&bench.run(&server, "openai", 1, "max_in_flight = 256"), bench.cases as u64);
            Some(generator / server.sending_s())
        })
        .collect();
    shares.sort_by(f64::total_cmp);
    match shares.get(1) {
        Some(share) => println!("100,000 trials at 256: {share:.2} of the generator's requests a second"),
        None => println!("no load generator"),
    }
}

/// 5,000 trials at 512 in flight, by an account that is not known yet and again by one that the store
/// knows.
fn slow_start() {
    let bench = Bench::new(5_000, 130);
    let server = bench.server(&["--latency-ms", "200", "--jitter-ms", "100"]);
    let unknown = bench.run(&server, "openai", 1, "max_in_flight = 512");
    let sending = server.sending_s();
    server.reset();
    let known = bench.again();
    println!(
        "5,000 trials at 512, 200 ms: {sending:.2} s sending, {:.2} s in all; by a known account {:.2} s, {:.2} s",
        unknown.wall.as_secs_f64(),
        server.sending_s(),
        known.wall.as_secs_f64()
    );
}

fn latency_64() {
    beside_the_generator(
        5_000,
        64,
        &["--latency-ms", "200", "--jitter-ms", "100"],
        Some(5_000.0 * 0.2 / 64.0),
    );
}

fn latency_512() {
    let ideal = 50_000.0 * 0.2 / 512.0;
    beside_the_generator(50_000, 512, &["--latency-ms", "200", "--jitter-ms", "100"], Some(ideal));
}

/// Limits configured and learnt, in either dialect's headers, told in milliseconds or seconds.
fn limits() {
    println!(
        "| limit a minute | cases | dialect | limit known by | waits told in | ideal s | sending s | of the ideal | 429s |"
    );
    println!("| --- | --- | --- | --- | --- | --- | --- | --- | --- |");
    for (per_minute, cases, ideal) in [(6_000, 1_000, 9.0), (600, 200, 19.0)] {
        let bench = Bench::new(cases, 130);
        for dialect in ["openai", "anthropic"] {
            for (known, limits, headers) in [
                ("configured", format!("requests_per_minute = {per_minute}, max_in_flight = 64"), None),
                ("headers", "max_in_flight = 64".to_owned(), None),
                ("bucket headers", "max_in_flight = 64".to_owned(), Some("--bucket-headers")),
            ] {
                for whole in [None, Some("--whole-seconds")] {
                    let rate = per_minute.to_string();
                    let mut arguments =
                        vec!["--rpm", rate.as_str(), "--latency-ms", "100", "--jitter-ms", "50"];
                    arguments.extend(headers);
                    arguments.extend(whole);
                    let server = bench.server(&arguments);
                    let taken = bench.run(&server, dialect, 1, &limits);
                    check(&taken, cases as u64);
                    // The last answer takes its own latency, which is no sending.
                    let sending = server.sending_s() - 0.1;
                    let refused = server.stats()["by_status"]["429"].as_u64().unwrap_or(0);
                    println!(
                        "| {per_minute} | {cases} | {dialect} | {known} | {} | {ideal:.1} | {sending:.2} | {:.3} | {refused} |",
                        if whole.is_some() { "seconds" } else { "milliseconds" },
                        sending / ideal,
                    );
                }
            }
        }
    }
}

fn in_flight() {
    let bench = Bench::new(40_000, 130);
    let server = bench.server(&["--latency-ms", "4000", "--jitter-ms", "500"]);
    let taken = bench.run(&server, "openai", 1, "max_in_flight = 10000");
    check(&taken, bench.cases as u64);
    let most = server.stats()["max_in_flight"].as_u64().unwrap_or(0);
    println!(
        "40,000 trials at 4 s: {most} in flight, peak {:.0} MB, {:.1} s",
        taken.peak_mb,
        taken.wall.as_secs_f64()
    );
}

fn large_answers() {
    let bench = Bench::new(500, 60_000);
    let server = bench.server(&[]);
    let taken = bench.run(&server, "openai", 100, "max_in_flight = 64");
    check(&taken, 50_000);
    let size = fs::metadata(bench.path("store.db")).map_or(0, |file| file.len());
    println!("50,000 answers of 60 KB ({:.1} GB stored): run {}", size as f64 / 1e9, told(&taken));
    println!("show {}", told(&watch(bench.caseload(&["show", "latest"]))));
    let mut export = bench.caseload(&["export", "latest"]);
    export.stdout(Stdio::null());
    println!("export {}", told(&watch_silent(export)));
}

/// As [`watch`], of a command whose output is too large to keep.
fn watch_silent(command: Command) -> Taken {
    let mut shell = Command::new("sh");
    shell.arg("-c").arg("exec \"$0\" \"$@\" >/dev/null").arg(command.get_program()).args(command.get_args());
    if let Some(folder) = command.get_current_dir() {
        shell.current_dir(folder);
    }
    shell.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    watch(shell)
}

fn told(taken: &Taken) -> String {
    format!("{:.1} s, CPU {:.1} s, peak {:.0} MB", taken.wall.as_secs_f64(), taken.cpu_s, taken.peak_mb)
}

fn million() {
    let bench = Bench::new(100_000, 130);
    let taken = bench.run_target("provider = \"simulator\"\nmodel = \"m\"\n", 10);
    check(&taken, 1_000_000);
    println!("1,000,000 simulated trials of 100,000 cases: run {}", told(&taken));
    let rows = stored(&bench.path("store.db"));
    println!("rows in the store: {rows}");
    assert_eq!(rows, 1_000_000);
    println!("show {}", told(&watch(bench.caseload(&["show", "latest"]))));
}

/// Two targets of one run, 100,000 cases and five repeats each, compared five times.
fn compare() {
    let bench = Bench { core: Some(CORES[1]), ..Bench::new(100_000, 130) };
    let target =
        |name: &str| format!("[[target]]\nname = \"{name}\"\nprovider = \"simulator\"\nmodel = \"m\"\n");
    let text =
        format!("name = \"load\"\ngolden = \"golden.jsonl\"\nrepeats = 5\n{}{}", target("a"), target("b"));
    fs::write(bench.path("load.toml"), text).expect("an experiment can be written");
    watch(bench.caseload(&["run", "load.toml", "-q"]));
    let mut taken: Vec<Taken> =
        (0..5).map(|_| watch(bench.caseload(&["compare", "load-1:a", "load-1:b", "--json"]))).collect();
    taken.sort_by(|one, other| one.cpu_s.total_cmp(&other.cpu_s));
    println!("two sides of 100,000 cases × 5 on one core, best of 5: {}", told(&taken[0]));
}

fn stored(store: &Path) -> i64 {
    let connection = rusqlite::Connection::open(store).expect("the store can be opened");
    connection.query_row("SELECT count(*) FROM trial", [], |row| row.get(0)).expect("the store can be read")
}
