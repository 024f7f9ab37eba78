//! The library's example does what it says.

#[allow(dead_code, reason = "its `main` is called by cargo alone")]
#[path = "../examples/library.rs"]
mod example;

#[tokio::test]
async fn a_golden_set_in_memory_is_run_and_compared() {
    let folder = tempfile::tempdir().unwrap();
    let said = example::run_and_compare(&folder.path().join("store.db")).await.unwrap();
    assert!(said.starts_with("1200 trials: +") && said.ends_with("points, Pass"), "{said}");
}
