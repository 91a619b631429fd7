//! Who called the function that allocates: a few calls, as addresses of instructions until somebody wants to read them.

/// Some calls, the nearest first. Empty if nobody wants them.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub(crate) struct Context(Box<[usize]>);

/// Calls inside the heap, at most, before those of the program.
#[cfg(feature = "contexts")]
const OWN: usize = 12;

impl Context {
    /// The calls that led here: so many, and those inside the heap.
    #[inline]
    pub(crate) fn here(calls: usize) -> Self {
        match calls {
            0 => Self::default(),
            calls => Self::captured(calls),
        }
    }

    #[cfg(feature = "contexts")]
    #[cold]
    fn captured(calls: usize) -> Self {
        let mut all = Vec::with_capacity(OWN + calls);
        backtrace::trace(|frame| {
            all.push(frame.ip().addr());
            all.len() < OWN + calls
        });
        Self(all.into())
    }

    #[cfg(not(feature = "contexts"))]
    fn captured(_: usize) -> Self {
        Self::default()
    }

    /// A number that other contexts hardly ever have.
    #[inline]
    pub(crate) fn key(&self) -> usize {
        let mixed = self.0.iter().fold(0_usize, |key, ip| {
            (key.rotate_left(5) ^ ip).wrapping_mul(0x517c_c1b7_2722_0a95)
        });
        // An address is no more than this shifted.
        mixed & !7
    }

    /// The same without the calls inside the heap, which are not the same each time.
    #[cfg(feature = "contexts")]
    pub(crate) fn of_program(&self) -> Self {
        let is_own = |ip: &&usize| {
            let mut own = false;
            // An instruction may be of several functions, one in the other: the outermost comes last.
            backtrace::resolve(std::ptr::without_provenance_mut(**ip), |symbol| {
                let file = symbol.filename().unwrap_or("".as_ref());
                own = file.starts_with(env!("CARGO_MANIFEST_DIR"))
                    || file
                        .components()
                        .any(|it| it.as_os_str().as_encoded_bytes().starts_with(b"backtrace-"));
            });
            own
        };
        let own = self.0.iter().take_while(is_own).count();
        let most = self.0.len().saturating_sub(OWN);
        Self(self.0.iter().skip(own).take(most).copied().collect())
    }

    #[cfg(not(feature = "contexts"))]
    pub(crate) fn of_program(&self) -> Self {
        Self::default()
    }

    /// The functions that were called, as far as their names are known.
    #[cfg(feature = "contexts")]
    pub(crate) fn names(&self) -> Vec<String> {
        let mut names = Vec::new();
        for &ip in &self.0 {
            let mut found = None;
            backtrace::resolve(std::ptr::without_provenance_mut(ip), |symbol| {
                // `{name:#}` leaves the hash out.
                let name = symbol.name().map(|name| format!("{name:#}"));
                let place = symbol.filename().zip(symbol.lineno());
                let place = place.map(|(file, line)| format!(" ({}:{line})", file.display()));
                found = name.map(|name| name + &place.unwrap_or_default());
            });
            names.extend(found);
        }
        names
    }

    #[cfg(not(feature = "contexts"))]
    pub(crate) fn names(&self) -> Vec<String> {
        Vec::new()
    }
}
