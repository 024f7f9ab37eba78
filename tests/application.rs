//! One's own application as a target: programs that crash, hang and flood, endpoints of any shape, and
//! what was retrieved.
//!
//! The programs are shell scripts; a question's `"id"` and `"message"` are cut out of its line.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::support::{Answer, Project, Signal, Stub, signal};

/// Reads a question into `$id` and `$n`, its number.
const READ: &str = r#"cut() { rest=${line#*\"id\":\"}; id=${rest%%\"*}; rest=${line#*\"message\":\"question }; n=${rest%%\"*}; }
"#;

/// A project whose program is `body`, behind `READ`, and the experiment of which says `section` of it.
fn project(cases: usize, section: &str, body: &str) -> Project {
    let project = Project::new().with_cases(cases).with("bot.sh", &format!("#!/bin/sh\n{READ}{body}\n"));
    let mode = fs::Permissions::from_mode(0o755);
    fs::set_permissions(project.path("bot.sh"), mode).unwrap();
    project.with("e.toml", &experiment(&format!("command = [\"./bot.sh\"]\n{section}")))
}

fn experiment(section: &str) -> String {
    format!(
        "name = \"test\"\ngolden = \"golden.jsonl\"\n[[target]]\nname = \"bot\"\nprovider = \"p\"\n\
         [provider.p]\nkind = \"exec\"\n{section}\n"
    )
}

/// Waits until no process works in the project's folder any more, whoever its parent is.
#[track_caller]
fn nothing_is_left_behind(project: &Project) {
    let folder = project.path("").canonicalize().unwrap();
    let deadline = Instant::now() + Duration::from_secs(5);
    loop {
        let here: Vec<String> = fs::read_dir("/proc")
            .unwrap()
            .flatten()
            .filter(|entry| fs::read_link(entry.path().join("cwd")).is_ok_and(|cwd| cwd == folder))
            .map(|entry| {
                fs::read_to_string(entry.path().join("cmdline")).unwrap_or_default().replace('\0', " ")
            })
            .collect();
        if here.is_empty() {
            return;
        }
        assert!(Instant::now() < deadline, "left behind: {here:#?}");
        thread::sleep(Duration::from_millis(50));
    }
}

fn graded(project: &Project) -> Value {
    let card = project.caseload(&["run", "e.toml", "--json"]).exits(0).json();
    card["targets"][0].clone()
}

#[test]
fn a_program_is_asked_once_a_trial_and_may_answer_in_plain_text() {
    let project = project(
        4,
        "env = [\"PATH\", \"TEST_KEY\"]",
        r#"read -r line; cut
echo "thinking about $n with $TEST_KEY and [$HOME]" >&2
echo "It is right $n.""#,
    );
    let target = graded(&project);
    assert_eq!((&target["graded"], &target["pass_rate"]["point"]), (&json!(4), &json!(1.0)));
    let stderr: String = project.sql("SELECT stderr FROM attempt WHERE case_position = 2");
    assert_eq!(stderr, "thinking about 2 with [hidden] and []");
    assert!(!project.store_holds("sk-test-123"), "the key is in the store");
    nothing_is_left_behind(&project);
}

#[test]
fn a_program_that_tells_its_key_in_every_field_leaves_it_nowhere() {
    let body = r#"read -r line; cut
code=$(printf %s "$TEST_KEY" | base64)
case $n in
  2) echo "{\"error\": \"no index for $TEST_KEY\"}"; exit 0 ;;
  3) echo "crashed with $TEST_KEY" >&2; exit 1 ;;
esac
echo "{\"output\": \"It is right $n, $code\", \"model\": \"m-$TEST_KEY\", \"usage\": {\"input\": \"$TEST_KEY\"},
 \"retrieved\": [{\"doc\": \"$TEST_KEY\", \"chunk\": \"$TEST_KEY\", \"text\": \"$TEST_KEY\"}],
 \"meta\": {\"$TEST_KEY\": [\"${TEST_KEY%??}…\"]}}""#;
    let project = project(4, "env = [\"PATH\", \"TEST_KEY\"]\nretry = { max_retries = 0 }", body);
    project.caseload(&["run", "e.toml"]).exits(3);
    for told in ["sk-test-", "test-123", "c2stdGVzdC0xMjM"] {
        assert!(!project.store_holds(told), "{told} is in the store");
        let exported = project.caseload(&["export", "latest"]).exits(0);
        assert!(!exported.stdout.contains(told), "{told} is exported");
    }
    assert_eq!(
        project.sql::<String>("SELECT DISTINCT model_returned FROM trial WHERE case_position = 1"),
        "m-[hidden]"
    );
}

/// A process that left the program's session holds what the program wrote to: the answer is there all the same.
#[test]
fn a_program_that_is_done_is_not_waited_for_through_another_that_it_left_behind() {
    let body = r#"read -r line; cut
[ $n = 1 ] && setsid sleep 4 &
echo "It is right $n.""#;
    let project = project(4, "timeouts = { attempt_s = 3 }\nretry = { max_retries = 0 }", body);
    let target = graded(&project);
    assert_eq!((&target["graded"], &target["failed_attempts"]), (&json!(4), &json!(0)));
    assert_eq!(target["pass_rate"]["point"], 1.0);
}

#[test]
fn crashes_hangs_and_floods_cost_an_attempt_and_no_trial() {
    let body = r#"read -r line; cut
first() { [ ! -e "done-$n" ] && : > "done-$n"; }
case $n in
  *5) first && { echo "about to crash" >&2; kill -SEGV $$; } ;;
  *7) first && { sleep 600 & sleep 600; } ;;
  *9) first && { yes "flood" ; } ;;
  *3) first && { yes "flood" | head -c 3000000 >&2; } ;;
  *1) first && exit 3 ;;
esac
echo "It is right $n.""#;
    let section = "workers = 4\nmax_output_kb = 256\ntimeouts = { attempt_s = 1.5 }\nretry = { base_delay_ms = 5, max_retries = 3 }";
    let project = project(40, section, body);
    let target = graded(&project);
    assert_eq!((&target["graded"], &target["failed_attempts"]), (&json!(40), &json!(16)));
    assert_eq!(target["pass_rate"]["point"], 1.0);
    let of =
        |kind: &str| -> i64 { project.sql(&format!("SELECT count(*) FROM attempt WHERE kind = '{kind}'")) };
    assert_eq!((of("application"), of("timeout"), of("too_large")), (8, 4, 4));
    let message: String = project.sql("SELECT message FROM attempt WHERE message LIKE '%signal%' LIMIT 1");
    assert_eq!(message, "it was ended by signal 11: about to crash");
    let longest: i64 = project.sql("SELECT max(length(stderr)) FROM attempt");
    assert!(longest <= 8 * 1024, "{longest}");
    nothing_is_left_behind(&project);
}

#[test]
fn a_worker_that_breaks_the_protocol_is_restarted_and_its_trial_asked_again() {
    let body = r#"while read -r line; do cut
first() { [ ! -e "done-$n" ] && : > "done-$n"; }
answer="{\"id\":\"$id\",\"output\":\"It is right $n.\"}"
case $n in
  1) first && echo "{\"id\":\"nobody\",\"output\":\"x\"}" ;;
  3) first && echo "this is no JSON" ;;
  5) first && printf '\377\376\n' ;;
  7) echo "$answer" ;;
  9) first && continue ;;
  11) first && exit 1 ;;
  13) first && kill -KILL $$ ;;
  15) first && { yes flood | tr -d '\n'; } ;;
  17) first && echo "[1, 2]" ;;
  19) first && echo "{\"id\":\"$id\"}" && continue ;;
  21) echo "{\"id\":\"$id\",\"error\":\"no index for $n\"}"; continue ;;
esac
echo "$answer"
done"#;
    let section = "mode = \"persistent\"\nworkers = 2\nmax_output_kb = 256\ntimeouts = { attempt_s = 1.5 }\nretry = { base_delay_ms = 5, max_retries = 3 }";
    let project = project(24, section, body);
    let card = project.caseload(&["run", "e.toml", "--json"]).exits(3).json();
    let target = &card["targets"][0];
    assert_eq!((&target["graded"], &target["not_measured"]), (&json!(23), &json!({"failed": 1})));
    assert_eq!(target["pass_rate"]["point"], 1.0);
    let said = |case: u32| -> String {
        project
            .sql(&format!("SELECT message FROM attempt WHERE case_position = {case} AND class IS NOT NULL"))
    };
    assert_eq!(said(1), "it answered `nobody`, which was not asked");
    assert!(said(3).contains("no JSON object"), "{}", said(3));
    assert!(said(5).contains("not UTF-8"), "{}", said(5));
    assert_eq!(said(9), "no answer within 1.5 s");
    assert_eq!(said(11), "it ended with exit code 1");
    assert_eq!(said(13), "it was ended by signal 9");
    assert_eq!(said(15), "it wrote more than 262144 bytes");
    assert!(said(17).contains("no JSON object"), "{}", said(17));
    assert_eq!(said(19), "its answer has no `output`");
    assert_eq!(said(21), "no index for 21");
    let twice: i64 = project.sql("SELECT count(*) FROM attempt WHERE case_position = 7");
    assert_eq!(twice, 1, "the same answer twice does no harm");
    nothing_is_left_behind(&project);
}

#[test]
fn answers_may_come_in_any_order() {
    let body = r#"while read -r line; do cut; first="{\"id\":\"$id\",\"output\":\"It is right $n.\"}"
read -r line && { cut; echo "{\"id\":\"$id\",\"output\":\"It is right $n.\"}"; }
echo "$first"; done"#;
    let section = "mode = \"persistent\"\nworkers = 1\ntrials_per_worker = 2\ntimeouts = { attempt_s = 20 }";
    let project = project(20, section, body);
    let target = graded(&project);
    assert_eq!((&target["graded"], &target["pass_rate"]["point"]), (&json!(20), &json!(1.0)));
    assert_eq!(target["failed_attempts"], 0);
}

#[test]
fn nothing_is_left_behind_when_the_runner_is_killed_or_interrupted() {
    for mode in ["per_trial", "persistent"] {
        for signals in [&[Signal::KILL][..], &[Signal::INT, Signal::INT]] {
            let section = format!("mode = \"{mode}\"\nworkers = 2");
            let project = project(10, &section, "trap '' INT TERM HUP\nsleep 600 & : > started; sleep 600");
            let mut runner = project.start(&["run", "e.toml", "-q"]);
            let deadline = Instant::now() + Duration::from_secs(20);
            while !project.path("started").exists() {
                assert!(Instant::now() < deadline, "the program was not started");
                thread::sleep(Duration::from_millis(20));
            }
            for word in signals {
                signal(&runner, *word);
                thread::sleep(Duration::from_millis(200));
            }
            let code = runner.wait().unwrap().code();
            assert_eq!(code, (signals.len() == 2).then_some(130), "{mode}");
            nothing_is_left_behind(&project);
        }
    }
}

#[test]
fn exit_codes_say_what_follows() {
    let section = "exit_codes = { retry = [75], trial = [65], stop = [78] }\nretry = { base_delay_ms = 1, max_retries = 2 }\nworkers = 1";
    let answering = |code: &str| {
        format!(
            "read -r line; cut; [ $n = 2 ] && {{ echo words >&2; exit {code}; }}; echo \"It is right $n.\""
        )
    };
    let told = |code: &str, status: i32| {
        let project = project(4, section, &answering(code));
        let finished = project.caseload(&["run", "e.toml", "--json"]).exits(status);
        let attempts: i64 = project.sql("SELECT count(*) FROM attempt WHERE case_position = 2");
        (finished.json()["targets"][0]["not_measured"].clone(), attempts, finished.stderr)
    };
    let (missing, attempts, _) = told("65", 3);
    assert_eq!((missing, attempts), (json!({"failed": 1}), 1));
    let (missing, attempts, _) = told("75", 3);
    assert_eq!((missing, attempts), (json!({"failed": 1}), 3));
    let (missing, _, stderr) = told("78", 6);
    assert_eq!(missing["pending"], 2);
    assert!(stderr.contains("it ended with exit code 78: words"), "{stderr}");
}

#[test]
fn memory_has_a_limit() {
    let body = "read -r line; cut; [ $n = 1 ] && { x=$(head -c 200000000 /dev/zero | tr '\\0' x); sleep 5; }; echo \"It is right $n.\"";
    let project = project(2, "max_memory_mb = 64\nretry = { max_retries = 0 }", body);
    project.caseload(&["run", "e.toml"]).exits(3);
    let message: String = project.sql("SELECT message FROM attempt WHERE class IS NOT NULL");
    assert_eq!(message, "it used more than 64 MB of memory");
    nothing_is_left_behind(&project);
}

#[test]
fn a_program_that_cannot_be_run_is_told_before_anything_is_sent() {
    let project = Project::new().with_cases(2).with("plain.txt", "no program");
    for (section, told) in [
        ("command = [\"./nowhere\"]", "nowhere` does not exist"),
        ("command = [\"./plain.txt\"]", "plain.txt` is not executable"),
        ("command = [\"no-such-program-anywhere\"]", "there is no program `no-such-program-anywhere`"),
        ("command = [\"sh\"]\ncwd = \"nowhere\"", "the working folder `nowhere` does not exist"),
        ("command = []", "the list is empty"),
        ("command = \"sh -c x\"", "expected a list of the program and its arguments"),
        ("command = [\"sh\"]\nshell = true", "expected one text, since `shell` is true"),
        ("mode = \"persistent\"", "no `command` is named"),
        ("command = [\"sh\"]\nworkers = 0", "found 0, expected at least 1"),
        ("command = [\"sh\"]\nbase_url = \"http://x\"", "`base_url` belongs to `kind = \"openai\"`"),
        ("command = [\"sh\"]\nurl = \"http://x\"", "`url` belongs to `kind = \"http\"`"),
    ] {
        project.write("e.toml", &experiment(section));
        project.caseload(&["run", "e.toml"]).exits(2).stderr_has(told);
        assert!(!project.store().exists());
    }
}

/// Its verdicts were measured and its tokens never told: not the same as no earlier run.
#[test]
fn an_estimate_names_what_a_program_told_and_what_holds_it_back() {
    let project = project(4, "workers = 1", "sleep 0.05; echo right");
    project.caseload(&["run", "e.toml", "--quiet"]).exits(0);
    let estimate = project.caseload(&["estimate", "e.toml"]).exits(0);
    let estimate = estimate.stdout_has("verdicts of earlier runs: test-1");
    estimate.stdout_has("told no tokens").stdout_has("`workers × trials_per_worker` = 1 of");
}

#[test]
fn a_shell_reads_the_command_only_where_it_is_asked_to() {
    let project = Project::new()
        .with_cases(1)
        .with("e.toml", &experiment("command = \"echo 'It is right' $((1 - 1)).\"\nshell = true"));
    assert_eq!(graded(&project)["pass_rate"]["point"], 1.0);
    project.write("e.toml", &experiment("command = [\"echo\", \"It is right $((1 - 1)).\"]"));
    assert_eq!(graded(&project)["pass_rate"]["point"], 0.0);
}

fn endpoint(url: &str, section: &str) -> String {
    format!(
        "name = \"test\"\ngolden = \"golden.jsonl\"\n[[target]]\nname = \"app\"\nprovider = \"p\"\n\
         [provider.p]\nkind = \"http\"\nurl = \"{url}\"\nretry = {{ base_delay_ms = 1 }}\n{section}\n"
    )
}

#[test]
fn an_endpoint_of_any_shape_is_asked_and_read() {
    let stub = Stub::new(|number, body| {
        let question = body["ask"]["question"].as_str().unwrap_or_default();
        let right = question.replace("question", "right");
        let answer = Answer::json(&json!({
            "result": {"text": format!("It is {right}. (Bearer sk-test-123)")},
            "hits": [{"file": "plans", "body": "25 hives", "score": 2}],
            "tokens": {"prompt_tokens": 9, "completion_tokens": 4},
            "spent": 0.001,
            "engine": "engine-7",
        }));
        if number == 0 { Answer::error(429, "slow", "wait").header("retry-after", "0") } else { answer }
    });
    let section = "headers = { authorization = { env = \"TEST_KEY\" }, x-team = \"desk\" }\n\
        body = { ask = { question = \"{{ message }}\", case = \"case {{ id }}\" }, turns = \"{{ prompt.messages }}\" }\n\
        answer = { text = \"/result/text\", retrieved = \"/hits\", usage = \"/tokens\", cost = \"/spent\", model = \"/engine\", \
        passage = { doc = \"/file\", text = \"/body\" } }";
    let project =
        Project::new().with_cases(3).with("e.toml", &endpoint(&format!("{}/ask/", stub.url()), section));
    let target = graded(&project);
    assert_eq!((&target["graded"], &target["pass_rate"]["point"]), (&json!(3), &json!(1.0)));
    assert_eq!((&target["cost_usd"], &target["usage"]["input_uncached"]), (&json!("0.003"), &json!(27)));
    let request = &stub.requests()[1];
    assert_eq!((request.path.as_str(), &request.headers["x-team"]), ("/ask/", &"desk".parse().unwrap()));
    assert_eq!(request.headers["authorization"], "sk-test-123");
    assert_eq!(request.body["turns"][0]["role"], "user");
    let retrieved: String = project.sql("SELECT group_concat(doc || text || score) FROM retrieved_view");
    assert_eq!(retrieved, "plans25 hives2.0,plans25 hives2.0,plans25 hives2.0");
    assert_eq!(project.sql::<String>("SELECT DISTINCT model_returned FROM trial"), "engine-7");
    assert!(!project.store_holds("sk-test-123"), "the secret is in the store");
    let exported = project.caseload(&["export", "latest"]).exits(0);
    assert!(!exported.stdout.contains("sk-test-123"));
}

#[test]
fn a_pointer_to_nowhere_is_named_with_the_answers_shape() {
    let stub = Stub::new(|_, _| Answer::json(&json!({"result": {"text": "x"}, "sources": []})));
    let project = Project::new()
        .with_cases(1)
        .with("e.toml", &endpoint(&stub.url(), "body = {}\nanswer = { text = \"/answer\" }"));
    project.caseload(&["run", "e.toml"]).exits(3);
    let message: String = project.sql("SELECT failure_message FROM trial");
    assert_eq!(message, "`answer.text` = `/answer` points nowhere in {result: {text: text}, sources: []}");
}

#[test]
fn a_redirect_elsewhere_is_refused_and_never_followed() {
    let other = Stub::new(|_, _| Answer::json(&json!("stolen")));
    let to = format!("{}/take", other.url());
    let stub =
        Stub::new(move |_, _| Answer { status: 307, ..Answer::json(&json!({})) }.header("location", &to));
    let section = "headers = { x-key = { env = \"TEST_KEY\" } }\nbody = {}";
    let project = Project::new().with_cases(5).with("e.toml", &endpoint(&stub.url(), section));
    project.caseload(&["run", "e.toml"]).exits(6).stderr_has("redirects are not followed");
    assert_eq!(other.count(), 0);
}

#[test]
fn faults_of_an_endpoint_are_told_before_anything_is_sent() {
    let stub = Stub::new(|_, _| Answer::json(&json!("x")));
    let project = Project::new().with_cases(2);
    for (section, told) in [
        ("answer = { text = \"answer\" }", "`answer` is no JSON pointer"),
        ("answer = { txt = \"/answer\" }", "txt"),
        ("headers = { authorization = \"Bearer abc\" }", "a secret would be stored with every run"),
        ("headers = { x-key = { env = \"NOBODY_SET_THIS\" } }", "the variable `NOBODY_SET_THIS` is not set"),
        ("body = { q = \"{{ message\" }", "`body/q` is no valid template"),
        ("body = { q = \"{{ context.nobody }}\" }", "case `c0`"),
        ("command = [\"sh\"]", "`command` belongs to `kind = \"exec\"`"),
        ("method = \"FETCH\"", "FETCH"),
    ] {
        project.write("e.toml", &endpoint(&stub.url(), section));
        project.caseload(&["run", "e.toml"]).exits(2).stderr_has(told);
    }
    project.write("e.toml", &endpoint("http://host/ask?api_key=abc", ""));
    let finished = project.caseload(&["run", "e.toml"]).exits(2).stderr_has("holds a user name or a key");
    assert!(!finished.stderr.contains("abc"), "{}", finished.stderr);
    assert_eq!(stub.count(), 0);
}

/// Three cases of which the application finds the source of the first, of half of the second, and
/// nothing for the third; the fourth labels no source.
#[test]
fn what_was_retrieved_is_graded_scored_and_shown() {
    let golden = r#"{"id": "found", "input": "q", "expected": {"sources": ["a"], "facts": ["25 hives"]}, "graders": ["cites", "grounded"]}
{"id": "half", "input": "q", "expected": {"sources": ["b", "c"]}, "graders": ["cites", "grounded"]}
{"id": "lost", "input": "q", "expected": {"sources": ["d"]}, "graders": ["cites"]}
{"id": "free", "input": "q", "expected": {"must_contain": ["yes"]}, "graders": ["words"]}
"#;
    let outputs = r##"{"id": "found", "output": "“Up to 25 hives here” [a#1]", "retrieved": [{"doc": "a", "chunk": "a#1", "text": "Up to 25 hives here.", "score": 4.25}]}
{"id": "half", "output": "“Up to 99 hives here” [b]", "retrieved": ["b", "x"]}
{"id": "lost", "output": "[x]", "retrieved": [{"doc": "x"}]}
{"id": "free", "output": "yes", "retrieved": []}
"##;
    let experiment = "name = \"test\"\ngolden = \"golden.jsonl\"\nretrieval_k = 2\n[[target]]\nname = \"t\"\nprovider = \"replay\"\nmodel = \"m\"\noutputs = \"o.jsonl\"\n";
    let project =
        Project::new().with("golden.jsonl", golden).with("o.jsonl", outputs).with("e.toml", experiment);
    let target = graded(&project);
    let retrieval = &target["retrieval"];
    assert_eq!((&retrieval["k"], &retrieval["cases"]), (&json!(2), &json!(3)));
    assert_eq!(retrieval["hit_rate"]["point"], json!(2.0 / 3.0));
    assert_eq!(retrieval["recall"]["point"], json!(0.5));
    assert_eq!(retrieval["fact_recall"]["point"], json!(1.0));
    assert_eq!(retrieval["trials_without_sources"], 1);
    assert_eq!(
        retrieval["two_by_two"],
        json!({"hit_pass": 1, "hit_fail": 1, "miss_pass": 0, "miss_fail": 1})
    );
    let by_sql: f64 = project.sql("SELECT avg(hit) FROM retrieval_view WHERE hit IS NOT NULL");
    assert!((by_sql - 2.0 / 3.0).abs() < 1e-12);
    let shown = project.caseload(&["show", "--case", "found"]).exits(0);
    let shown = shown.stdout_has("retrieved 1. a#1 (4.25)").stdout_has("Up to 25 hives here.");
    assert!(shown.stdout.lines().all(|line| line.chars().count() <= 100), "{}", shown.stdout);
    project.caseload(&["show"]).exits(0).stdout_has("hit rate@2 66.7 %").stdout_has("1 wrong (the search)");
    // Graded again, it says the same.
    project.caseload(&["grade", "latest"]).exits(0);
    let again = project.caseload(&["show", "--json"]).json();
    assert_eq!(again["targets"][0]["retrieval"], *retrieval);
}

#[test]
fn the_worked_example_runs_and_fewer_passages_find_fewer_sources() {
    let project = Project::new();
    let run = |name: &str| {
        let file = format!("{}/config/{name}.toml", env!("CARGO_MANIFEST_DIR"));
        let store = project.store().display().to_string();
        let card = project.caseload(&["run", &file, "--store", &store, "--json"]).exits(0).json();
        let target = card["targets"][0].clone();
        let of = |rate: &Value| rate["point"].as_f64().unwrap();
        (of(&target["pass_rate"]), of(&target["retrieval"]["hit_rate"]), target["retrieval"]["cases"].clone())
    };
    let (pass, hit, cases) = run("app");
    let (pass_one, hit_one, _) = run("app-top-k-1");
    let (pass_cut, hit_cut, _) = run("app-chunk-words-55");
    assert_eq!(cases, 326);
    assert!(hit - hit_one > 0.1, "{hit} {hit_one}");
    assert!((pass - pass_one).abs() < 0.05, "the average hardly moves: {pass} {pass_one}");
    assert!((hit - hit_cut).abs() < 0.05 && (pass - pass_cut).abs() < 0.02, "{hit_cut} {pass_cut}");
    // What the averages do not say: the gates that came with each run name the cases that broke.
    let one = project.caseload(&["compare", "app-1", "app-top-k-1-1"]).exits(1);
    assert!(one.stdout.contains("retrieval hit rate"), "{}", one.stdout);
    let json = project.caseload(&["compare", "app-1", "app-top-k-1-1", "--json"]).exits(1).json();
    let hit_rate = &json["retrieval"]["hit_rate"];
    assert!(hit_rate["difference"]["high"].as_f64().unwrap() < 0.0, "{hit_rate}");
    one.stdout_has("FAIL").stdout_has("sms-carry-over").stdout_has("broke");
    project.caseload(&["compare", "app-1", "app-chunk-words-55-1"]).exits(1).stdout_has("broke 25");
    nothing_is_left_behind(&project);
}
