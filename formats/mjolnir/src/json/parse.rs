//! The strict parser: a text has one reading or none.
//!
//! It refuses what other parsers let pass or read in different ways: byte-order marks, lone surrogates,
//! repeated keys, numbers beyond f64, deep nesting. A number keeps whether its token is an integer's, however
//! large it is; that is why this is no parser of others, whose numbers have lost it.
#![deny(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic
)]

use std::collections::BTreeMap;

/// Arrays and objects may lie this deep in each other.
const DEPTH: usize = 127;
/// A text may hold so many values: a few bytes of text can be hundreds in memory, and deflate makes a few of
/// many.
const VALUES: usize = 500_000;

/// A parsed text.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    Null,
    Bool(bool),
    Number(Number),
    Text(String),
    Array(Vec<Value>),
    Object(BTreeMap<String, Value>),
}

/// A number, finite.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Number {
    pub(crate) real: f64,
    /// Its value where the token has neither fraction nor exponent; beyond i128, the nearest.
    pub(crate) integer: Option<i128>,
}

/// Parses `bytes`, of which there may be at most `most`.
pub(crate) fn parse(bytes: &[u8], most: usize) -> Result<Value, String> {
    if bytes.len() > most {
        return Err(format!("more than {most} bytes of JSON; no more are read"));
    }
    let text = str::from_utf8(bytes)
        .map_err(|error| format!("not UTF-8 from byte {} on; JSON must be", error.valid_up_to()))?;
    let mut parser = Parser { rest: text, values_left: VALUES };
    parser.document().map_err(|message| {
        let read = text.len().saturating_sub(parser.rest.len());
        let before = text.get(..read).unwrap_or(text);
        let line = before.matches('\n').count().saturating_add(1);
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count().saturating_add(1);
        format!("not valid JSON: {message}, at line {line} column {column}")
    })
}

/// What is left to parse. After an error it starts at the place of the fault.
struct Parser<'a> {
    rest: &'a str,
    values_left: usize,
}

impl<'a> Parser<'a> {
    fn document(&mut self) -> Result<Value, String> {
        let value = self.value(DEPTH)?;
        self.space();
        if self.rest.is_empty() { Ok(value) } else { self.expected("the end") }
    }

    /// A value that may hold `depth` levels of arrays and objects.
    fn value(&mut self, depth: usize) -> Result<Value, String> {
        self.space();
        let left = self.values_left.checked_sub(1);
        self.values_left = left.ok_or_else(|| format!("more than {VALUES} values; no more are read"))?;
        for (word, value) in
            [("null", Value::Null), ("true", Value::Bool(true)), ("false", Value::Bool(false))]
        {
            if self.eat(word) {
                return Ok(value);
            }
        }
        match self.rest.bytes().next() {
            Some(b'"') => Ok(Value::Text(self.string()?)),
            Some(b'-' | b'0'..=b'9') => Ok(Value::Number(self.number()?)),
            Some(b'[' | b'{') => {
                let Some(depth) = depth.checked_sub(1) else {
                    return Err(format!("nested more than {DEPTH} deep"));
                };
                if self.eat("[") { self.array(depth) } else { self.object(depth) }
            }
            _ => self.expected("a value"),
        }
    }

    fn array(&mut self, depth: usize) -> Result<Value, String> {
        let mut items = Vec::new();
        self.space();
        if self.eat("]") {
            return Ok(Value::Array(items));
        }
        loop {
            items.push(self.value(depth)?);
            if !self.goes_on("]")? {
                return Ok(Value::Array(items));
            }
        }
    }

    fn object(&mut self, depth: usize) -> Result<Value, String> {
        let mut object = BTreeMap::new();
        self.eat("{");
        self.space();
        if self.eat("}") {
            return Ok(Value::Object(object));
        }
        loop {
            self.space();
            if !self.rest.starts_with('"') {
                return self.expected("a key");
            }
            let key = self.string()?;
            if object.contains_key(&key) {
                return Err(format!("the key {key:?} occurs twice"));
            }
            self.space();
            if !self.eat(":") {
                return self.expected("`:`");
            }
            object.insert(key, self.value(depth)?);
            if !self.goes_on("}")? {
                return Ok(Value::Object(object));
            }
        }
    }

    /// Whether another item follows, or `end`.
    fn goes_on(&mut self, end: &str) -> Result<bool, String> {
        self.space();
        if self.eat(",") {
            Ok(true)
        } else if self.eat(end) {
            Ok(false)
        } else {
            self.expected(&format!("`,` or `{end}`"))
        }
    }

    fn string(&mut self) -> Result<String, String> {
        self.eat("\"");
        let mut text = String::new();
        loop {
            let special = |c: char| matches!(c, '"' | '\\' | '\0'..='\x1f');
            let Some((plain, _)) = self.rest.find(special).and_then(|at| self.rest.split_at_checked(at))
            else {
                return Err("a string does not end".to_owned());
            };
            text.push_str(plain);
            self.skip(plain.len());
            if self.eat("\"") {
                return Ok(text);
            }
            if !self.eat("\\") {
                return Err("a control character in a string must be escaped".to_owned());
            }
            text.push(self.escape()?);
        }
    }

    /// What stands for the escape whose backslash was read.
    fn escape(&mut self) -> Result<char, String> {
        if self.eat("u") {
            let first = self.hex()?;
            if !(0xD800..0xE000).contains(&first) {
                return char::from_u32(first).ok_or_else(|| "an escape is no character".to_owned());
            }
            // Two halves of one character: a high surrogate, then a low one.
            let second = if self.eat("\\u") { self.hex()? } else { 0 };
            let units = [first, second].map(|unit| u16::try_from(unit).unwrap_or_default());
            let mut chars = char::decode_utf16(units);
            return match (chars.next(), chars.next()) {
                (Some(Ok(char)), None) => Ok(char),
                _ => Err("a surrogate stands alone; escapes must be whole characters".to_owned()),
            };
        }
        for (letter, char) in [
            ("\"", '"'),
            ("\\", '\\'),
            ("/", '/'),
            ("b", '\x08'),
            ("f", '\x0c'),
            ("n", '\n'),
            ("r", '\r'),
            ("t", '\t'),
        ] {
            if self.eat(letter) {
                return Ok(char);
            }
        }
        self.expected("one of `\" \\ / b f n r t u` after a backslash")
    }

    fn hex(&mut self) -> Result<u32, String> {
        let digits = self.rest.get(..4).filter(|text| text.bytes().all(|byte| byte.is_ascii_hexdigit()));
        let Some(value) = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok()) else {
            return self.expected("four hexadecimal digits");
        };
        self.skip(4);
        Ok(value)
    }

    fn number(&mut self) -> Result<Number, String> {
        let start = self.rest;
        let negative = self.eat("-");
        if !self.eat("0") {
            self.digits()?;
        }
        let mut whole = true;
        if self.eat(".") {
            whole = false;
            self.digits()?;
        }
        if self.eat("e") || self.eat("E") {
            whole = false;
            let _sign = self.eat("+") || self.eat("-");
            self.digits()?;
        }
        // By length: comparing what is left would make many numbers cost the square of the text.
        let token = start.get(..start.len().saturating_sub(self.rest.len())).unwrap_or_default();
        let real = token.parse().ok().filter(|real: &f64| real.is_finite());
        let Some(real) = real else {
            return Err("a number is beyond the range of f64".to_owned());
        };
        let nearest = if negative { i128::MIN } else { i128::MAX };
        Ok(Number { real, integer: whole.then(|| token.parse().unwrap_or(nearest)) })
    }

    /// At least one digit.
    fn digits(&mut self) -> Result<(), String> {
        let rest = self.rest.trim_start_matches(|c: char| c.is_ascii_digit());
        if rest.len() == self.rest.len() {
            return self.expected("a digit");
        }
        self.rest = rest;
        Ok(())
    }

    fn space(&mut self) {
        self.rest = self.rest.trim_start_matches([' ', '\t', '\n', '\r']);
    }

    fn eat(&mut self, token: &str) -> bool {
        let rest = self.rest.strip_prefix(token);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn skip(&mut self, length: usize) {
        self.rest = self.rest.get(length..).unwrap_or_default();
    }

    fn expected<T>(&self, what: &str) -> Result<T, String> {
        Err(match self.rest.chars().next() {
            Some(found) => format!("{found:?} where {what} must be"),
            None => format!("the text ends where {what} must be"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_reading_or_none() {
        for wrong in [
            &b"\xef\xbb\xbf{}"[..],
            b"{\"a\":1,\"a\":1}",
            b"[{\"a\":{\"b\":1,\"\\u0062\":2}}]",
            b"\"\\ud800\"",
            b"\"\\udc00\"",
            b"\"\\udc00\\ud800\"",
            b"\"\\ud800\\ud800\"",
            b"\"\\ud800\\u0041\"",
            b"\"\\ud800A\"",
            b"\"\\u+041\"",
            b"\"\\u00\xc3\xa9\"",
            b"\"\\x41\"",
            b"\"\\",
            b"\"a",
            b"\"a\nb\"",
            b"\"\x1f\"",
            b"\"\xff\"",
            b"\"\xed\xa0\x80\"",
            b"1e999",
            b"-1e999",
            b"{} {}",
            b"[1,]",
            b"{\"a\":1,}",
            b"{a:1}",
            b"{\"a\" 1}",
            b"[1 2]",
            b"NaN",
            b"Infinity",
            b"01",
            b"-01",
            b"-",
            b"+1",
            b"1.",
            b".5",
            b"1e",
            b"1e+",
            b"0x10",
            b"nul",
            b"True",
            b"'a'",
            b"// a\n1",
            b"\x0c1",
            b"\xc2\xa01",
            b"",
            b" ",
            b"[",
            b"{",
        ] {
            let found = parse(wrong, 100);
            assert!(found.is_err(), "{} gives {found:?}", wrong.escape_ascii());
        }
        let nested = |depth| [b"[".repeat(depth), b"]".repeat(depth)].concat();
        assert!(parse(&nested(127), 1000).is_ok());
        assert!(parse(&nested(128), 1000).is_err());
        let objects = |depth| [b"{\"a\":".repeat(depth), b"1".to_vec(), b"}".repeat(depth)].concat();
        assert!(parse(&objects(127), 1000).is_ok());
        assert!(parse(&objects(128), 1000).is_err());
        // An integer of 400 digits is beyond f64 as well.
        assert!(parse(&b"9".repeat(400), 1000).is_err());
        assert!(parse(b"[]", 2).is_ok());
        assert!(parse(b"[] ", 2).is_err());
    }

    #[test]
    fn every_value() {
        let text = " { \"a\\u00e9\\ud83d\\ude00\\/\\b\\f\\n\\r\\t\\\"\\\\\u{7f}\u{e9}\" : [ null ,true, false , {} , [ ] ] }\r\n\t";
        let Ok(Value::Object(object)) = parse(text.as_bytes(), 1000) else {
            panic!("{:?}", parse(text.as_bytes(), 1000));
        };
        let (key, value) = object.first_key_value().unwrap();
        assert_eq!(key, "a\u{e9}\u{1f600}/\x08\x0c\n\r\t\"\\\x7f\u{e9}");
        let items = vec![
            Value::Null,
            Value::Bool(true),
            Value::Bool(false),
            Value::Object(BTreeMap::new()),
            Value::Array(Vec::new()),
        ];
        assert_eq!(*value, Value::Array(items));
    }

    #[test]
    fn integers_are_tokens_without_fraction() {
        for (token, real, integer) in [
            ("1", 1.0, Some(1)),
            ("-7", -7.0, Some(-7)),
            ("-0", -0.0, Some(0)),
            ("1.0", 1.0, None),
            ("1e0", 1.0, None),
            ("0.1", 0.1, None),
            ("25E-1", 2.5, None),
            ("5e-324", 5e-324, None),
            ("1e-999", 0.0, None),
            ("18446744073709551616", 18_446_744_073_709_551_616.0, Some(1 << 64)),
            ("1000000000000000000000000000000000000000", 1e39, Some(i128::MAX)),
            ("-1000000000000000000000000000000000000000", -1e39, Some(i128::MIN)),
        ] {
            let found = parse(token.as_bytes(), 100);
            assert_eq!(found, Ok(Value::Number(Number { real, integer })), "{token}");
        }
    }

    #[test]
    fn faults_have_their_places() {
        assert_eq!(
            parse(b"{\n  \"\xc3\xa9\": [1;\n}", 100).unwrap_err(),
            "not valid JSON: ';' where `,` or `]` must be, at line 2 column 10"
        );
        assert_eq!(parse(b"\"\xff\"", 100).unwrap_err(), "not UTF-8 from byte 1 on; JSON must be");
    }

    #[test]
    fn many_values_are_refused_before_they_fill_the_memory() {
        // The array counts, too. This many numbers at a cost that grows with the text's length each would not
        // end within a test's patience.
        let array = |count: usize| format!("[{}0]", "0,".repeat(count - 2));
        assert!(parse(array(VALUES).as_bytes(), 32 << 20).is_ok());
        let refused = parse(array(VALUES + 1).as_bytes(), 32 << 20).unwrap_err();
        assert!(refused.contains("more than 500000 values"), "{refused}");
    }

    /// Damage gives an answer, quickly, whatever it is.
    #[test]
    fn damage_is_answered() {
        let text = br#"{"a":[1,-2.5e3,"\u00e9\ud83d\ude00",{"b":null,"c":[true,false]}]}"#;
        for at in 0..text.len() {
            assert!(parse(&text[..at], 100).is_err(), "cut at {at}");
            for byte in 0..=u8::MAX {
                let mut damaged = text.to_vec();
                damaged[at] = byte;
                let _ = parse(&damaged, 100);
            }
        }
    }
}
