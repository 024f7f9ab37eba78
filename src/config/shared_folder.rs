//! Which account a provider's section means, so that processes of this machine can share it.

use std::{
    env, fs,
    path::{Path, PathBuf},
};

use secrecy::{ExposeSecret, SecretString};

use super::settings::ProviderSettings;

/// The folder in which the processes that use one account meet: in the user's runtime folder, else in
/// the folder for temporary files. It is named by a hash of the kind, the address and the key, from
/// which the key cannot be found again.
pub(super) fn folder(settings: &ProviderSettings, key: Option<&SecretString>) -> PathBuf {
    let runtime = env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|path| path.is_dir());
    let base = match runtime {
        Some(runtime) => runtime.join("caseload"),
        None => env::temp_dir().join(format!("caseload-{}", user())),
    };
    base.join(name(settings, key))
}

fn name(settings: &ProviderSettings, key: Option<&SecretString>) -> String {
    let mut hasher = blake3::Hasher::new_derive_key("caseload 2026-11-29 accounts shared on one machine");
    let url = settings.base_url.as_deref().unwrap_or_default().trim_end_matches('/');
    for part in [settings.kind.to_string().as_str(), url, key.map_or("", |key| key.expose_secret())] {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part.as_bytes());
    }
    hasher.finalize().to_hex().chars().take(32).collect()
}

/// Tells users of one machine apart.
fn user() -> String {
    #[cfg(unix)]
    if let Ok(own) = fs::metadata(Path::new("/proc/self")) {
        return std::os::unix::fs::MetadataExt::uid(&own).to_string();
    }
    env::var("USER").or_else(|_| env::var("USERNAME")).unwrap_or_else(|_| "user".to_owned())
}
