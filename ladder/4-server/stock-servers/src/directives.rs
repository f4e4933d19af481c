//! Directives of a configuration file: those of the recipe, and those that settings add or replace.

use crate::product::{Place, Product};

impl Product {
    /// Returns the contexts that [`Settings::directives`](crate::Settings::directives) can name.
    pub(crate) const fn contexts(self) -> &'static [&'static str] {
        match self {
            Self::Apache => &["server", "folder", "openssl"],
            Self::Gnutls => &[],
            Self::Haproxy => &["global", "defaults", "bind", "server", "openssl"],
            Self::Lighttpd => &["server", "openssl"],
            Self::Nginx => &["main", "events", "http", "listen", "openssl"],
            Self::Stunnel => &["service", "openssl"],
            Self::Command | Self::Python | Self::SServer => &["openssl"],
        }
    }
}

impl Place<'_> {
    /// Writes the directives of a context, each followed by `end`. `{folder}` and `{cores}` in
    /// values stand for the server's folder and the number of its cores.
    pub(crate) fn directives(&self, context: &str, recipe: &[(&str, &str)], end: &str) -> String {
        let mut all: Vec<(&str, &str)> = recipe.to_vec();
        for (name, value) in &self.settings.directives {
            let Some(name) = name.strip_prefix(context).and_then(|rest| rest.strip_prefix('.'))
            else {
                continue;
            };
            match all.iter_mut().find(|(known, _)| *known == name) {
                Some(known) => known.1 = value,
                None => all.push((name, value)),
            }
        }
        let (folder, cores) = (self.folder.display().to_string(), self.settings.workers());
        let line = |(name, value): (&str, &str)| {
            let name = name.split('#').next().unwrap_or_default();
            let value = value.replace("{folder}", &folder).replace("{cores}", &cores.to_string());
            format!("{}{end}", format!("{name} {value}").trim_end())
        };
        all.into_iter().map(line).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use tollgate_server::Certificate;

    use super::*;
    use crate::settings::Settings;

    #[test]
    fn settings_replace_and_add_directives_of_their_context() {
        let directives = [
            ("http.access_log", "{folder}/x.log"),
            ("http.conf#a", "A 1"),
            ("http.conf#b", "B {cores}"),
            ("listen.deferred", ""),
            ("httpd.other", "1"),
        ];
        let directives = directives.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        let settings = Settings { directives, ..Settings::new(Certificate::default()) };
        let place = Place {
            folder: Path::new("/tmp/f"),
            address: ([127, 0, 0, 1], 1).into(),
            backend: None,
            settings: &settings,
            is_root: false,
        };
        let recipe = [("access_log", "off"), ("gzip", "on")];
        let http = place.directives("http", &recipe, ";\n");
        assert_eq!(http, "access_log /tmp/f/x.log;\ngzip on;\nconf A 1;\nconf B 1;\n");
        assert_eq!(place.directives("listen", &[], " "), "deferred ");
    }
}
