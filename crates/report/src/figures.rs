//! Numbers as people read them.

/// `1234567` as `1,234,567`.
pub fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Returns a number of objects: `1 object`, `1,234 objects`.
pub fn objects(number: u64) -> String {
    match number {
        1 => "1 object".into(),
        many => format!("{} objects", count(many)),
    }
}

/// Returns a share: `12.3 %`.
pub fn percent(part: u64, whole: u64) -> String {
    format!("{:.1} %", part as f64 * 100.0 / whole.max(1) as f64)
}

/// Returns how much more there is after than before: `+1,234`, `-5`.
pub fn change(before: u64, after: u64) -> String {
    match after >= before {
        true => format!("+{}", count(after - before)),
        false => format!("-{}", count(before - after)),
    }
}

/// The units of bytes, each 1,024 times the one before.
const UNITS: [&str; 6] = ["bytes", "KiB", "MiB", "GiB", "TiB", "PiB"];

/// Returns the largest unit of which there is one at least in a number of bytes, and how many bytes it has.
pub fn unit_of(bytes: u64) -> (&'static str, u64) {
    let unit = (bytes.max(1).ilog2() as usize / 10).min(UNITS.len() - 1);
    (UNITS[unit], 1 << (10 * unit))
}

/// Returns a number of bytes with about three digits: `12 bytes`, `3.4 KiB`, `567 MiB`.
pub fn size(bytes: u64) -> String {
    let (unit, bytes_of_unit) = unit_of(bytes);
    let value = bytes as f64 / bytes_of_unit as f64;
    match value {
        _ if bytes_of_unit == 1 => format!("{bytes} {unit}"),
        few if few < 9.95 => format!("{few:.1} {unit}"),
        many => format!("{many:.0} {unit}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_about_three_digits() {
        let sizes = [
            0,
            1,
            1023,
            1024,
            1536,
            10_189,
            10_190,
            1 << 20,
            777 << 30,
            u64::MAX,
        ];
        assert_eq!(
            sizes.map(size),
            [
                "0 bytes",
                "1 bytes",
                "1023 bytes",
                "1.0 KiB",
                "1.5 KiB",
                "10 KiB",
                "10 KiB",
                "1.0 MiB",
                "777 GiB",
                "16384 PiB"
            ]
        );
    }
}
