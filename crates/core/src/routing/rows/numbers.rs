//! Numbers as Python writes them, so that rows from here and from there are alike.

use std::fmt::Write;

/// Appends a finite number as Python's `repr`: the fewest digits that read back as the same number.
pub fn push_exact(out: &mut String, number: f64) {
    push(out, format_args!("{number:e}"), 16, ".0");
}

/// Appends a finite number rounded to `digits` significant digits, as Python's format `.4g` for four.
pub fn push_rounded(out: &mut String, number: f64, digits: usize) {
    push(out, format_args!("{number:.*e}", digits - 1), digits as i32, "");
}

/// Writes what is in scientific notation: with an exponent only below 1e-4 and from ten to the power of `most` on.
fn push(out: &mut String, scientific: std::fmt::Arguments, most: i32, after_whole: &str) {
    let start = out.len();
    let _ = write!(out, "{scientific}"); // a string takes everything
    let written = out.split_off(start);
    let (sign, written) = match written.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", written.as_str()),
    };
    out.push_str(sign);
    let Some((mantissa, exponent)) = written.split_once('e') else {
        out.push_str(written); // an infinite number
        return;
    };
    let exponent: i32 = exponent.parse().unwrap_or(0); // always a number
    let (first, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let fraction = fraction.trim_end_matches('0');
    if !(-4..most).contains(&exponent) {
        out.push_str(first);
        if !fraction.is_empty() {
            out.push('.');
            out.push_str(fraction);
        }
        let _ = write!(out, "e{}{:02}", if exponent < 0 { '-' } else { '+' }, exponent.abs());
    } else if exponent < 0 {
        out.push_str("0.");
        push_zeros(out, (-exponent - 1) as usize);
        out.push_str(first);
        out.push_str(fraction);
    } else {
        let whole = exponent as usize;
        out.push_str(first);
        if fraction.len() <= whole {
            out.push_str(fraction);
            push_zeros(out, whole - fraction.len());
            out.push_str(after_whole);
        } else {
            out.push_str(&fraction[..whole]);
            out.push('.');
            out.push_str(&fraction[whole..]);
        }
    }
}

fn push_zeros(out: &mut String, count: usize) {
    out.extend(std::iter::repeat_n('0', count));
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn exact(number: f64) -> String {
        let mut out = String::new();
        push_exact(&mut out, number);
        out
    }

    fn rounded(number: f64) -> String {
        let mut out = String::new();
        push_rounded(&mut out, number, 4);
        out
    }

    #[test]
    fn numbers_are_those_of_python() {
        let written = [0.0, -0.0, 1.0, 0.1, 1e-4, 9.9e-5, 1e15, 1e16, 123_456.75, 5e-324, 1.5e300].map(exact);
        let expected = [
            "0.0",
            "-0.0",
            "1.0",
            "0.1",
            "0.0001",
            "9.9e-05",
            "1000000000000000.0",
            "1e+16",
            "123456.75",
            "5e-324",
            "1.5e+300",
        ];
        assert_eq!(written, expected);
        // 12345 lies in the middle between two numbers of four digits, and 999.95 is above it.
        let written = [0.0, 5.0, 1e-4, 1e-5, 0.012_344, 12_345.0, 12_355.0, 999.96, 9_999.6, 1e9].map(rounded);
        let expected = ["0", "5", "0.0001", "1e-05", "0.01234", "1.234e+04", "1.236e+04", "1000", "1e+04", "1e+09"];
        assert_eq!(written, expected);
    }

    proptest! {
        #[test]
        fn an_exact_number_reads_back(number in proptest::num::f64::NORMAL | proptest::num::f64::ZERO) {
            prop_assert_eq!(exact(number).parse::<f64>().unwrap().to_bits(), number.to_bits());
        }

        #[test]
        fn a_rounded_number_is_off_by_at_most_half_of_its_last_digit(number in 1e-30..1e30_f64) {
            let read: f64 = rounded(number).parse().unwrap();
            prop_assert!((read - number).abs() <= 0.5e-3 * 10_f64.powf(number.log10().floor()) * (1.0 + 1e-9));
        }
    }
}
