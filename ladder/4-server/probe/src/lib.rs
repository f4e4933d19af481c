//! Probe of a server by its URL: address, consent, and what it supports, before any load.
//!
//! A [`Url`] has scheme, host, port and path. [`Site::find`] resolves the host, asks
//! [`Target::admit`](tollgate_load::Target::admit) for each address before anything is sent to it,
//! and takes the first one on which a server listens. From then on only that address is used: a
//! name that resolves to another address later changes nothing, and redirections are reported and
//! never followed.
//!
//! [`Site::probe`] makes some thirty connections, one after the other. The load generator's own
//! client tries each suite and group that it knows, and requests the path twice. [`Probe`] holds
//! the results and names the requirements of a [`Plan`](tollgate_load::Plan) that the server does
//! not support.
//!
//! ```no_run
//! use tollgate_load::RequestForm;
//! use tollgate_probe::{Site, Url, resolve};
//!
//! let url: Url = "https://localhost:8443/bytes/14336".parse()?;
//! let site = Site::find(&url, None, &resolve)?;
//! let probe = site.probe(Some(&RequestForm::default()))?;
//! println!("{}", probe.lines().join("\n"));
//! # Ok::<(), Box<dyn core::error::Error>>(())
//! ```

mod blocking_client;
mod body;
mod error;
mod probe;
mod site;
mod support;
mod unmet;
mod url;
mod wire;

pub use body::Body;
pub use error::Error;
pub use probe::Probe;
pub use site::{Resolve, Site, resolve};
pub use support::Support;
pub use url::{Scheme, Url};
