//! Characters to tokens.

use super::Problem;
use super::script::Setting;

/// A token and its line.
#[derive(Debug, Clone, PartialEq)]
pub struct Token {
    /// The line it begins on.
    pub line: u32,
    /// Kind of the token.
    pub kind: Kind,
}

/// The kinds of tokens.
#[derive(Debug, Clone, PartialEq)]
pub enum Kind {
    /// A whole number, also in hexadecimal.
    Integer(i64),
    /// A number with a decimal point, as written.
    Decimal(String),
    /// A word; also an address.
    Word(String),
    /// `"..."`.
    Text(String),
    /// In backticks.
    Command(String),
    /// `%{ ... }%`, without these.
    Code(String),
    /// `--name`.
    Option(String),
    /// `...`.
    Ellipsis,
    /// Any other character.
    Sign(char),
}

/// The result of the lexer: the tokens of a script, and the settings in its comments.
pub struct Tokens {
    /// In order.
    pub tokens: Vec<Token>,
    /// Settings from `// anabranch: key=value ...`.
    pub settings: Vec<Setting>,
}

struct Lexer<'a> {
    rest: &'a str,
    line: u32,
    out: Tokens,
}

const SETTING: &str = "anabranch:";

/// Splits a script into tokens.
///
/// # Errors
/// Names a construct without an end, with the line on which it begins.
pub fn tokens(text: &str) -> Result<Tokens, Problem> {
    let mut lexer = Lexer { rest: text, line: 1, out: Tokens { tokens: Vec::new(), settings: Vec::new() } };
    while let Some(first) = lexer.rest.chars().next() {
        lexer.next(first)?;
    }
    Ok(lexer.out)
}

fn is_word(character: char) -> bool {
    character.is_ascii_alphanumeric() || character == '_'
}

impl<'a> Lexer<'a> {
    fn take(&mut self, bytes: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at(bytes);
        self.rest = rest;
        self.line += taken.matches('\n').count() as u32;
        taken
    }

    fn push(&mut self, line: u32, kind: Kind) {
        self.out.tokens.push(Token { line, kind });
    }

    fn next(&mut self, first: char) -> Result<(), Problem> {
        let line = self.line;
        if first.is_whitespace() {
            self.take(first.len_utf8());
        } else if self.rest.starts_with("//") {
            self.comment();
        } else if self.rest.starts_with("/*") {
            self.enclosed("/*", "*/", "a comment")?;
        } else if self.rest.starts_with("%{") {
            let code = self.enclosed("%{", "}%", "code")?.to_string();
            self.push(line, Kind::Code(code));
        } else if first == '`' {
            let command = self.enclosed("`", "`", "a command in backticks")?.to_string();
            self.push(line, Kind::Command(command));
        } else if first == '"' {
            let text = self.quoted()?;
            self.push(line, Kind::Text(text));
        } else if self.rest.starts_with("...") {
            self.take(3);
            self.push(line, Kind::Ellipsis);
        } else if self.rest.starts_with("--") && self.rest[2..].starts_with(is_word) {
            self.take(2);
            let name = self.word().to_string();
            self.push(line, Kind::Option(name));
        } else if let Some(length) = self.number_length() {
            self.number(length)?;
        } else if is_word(first) {
            let word = self.word().to_string();
            self.push(line, Kind::Word(word));
        } else {
            self.take(first.len_utf8());
            self.push(line, Kind::Sign(first));
        }
        Ok(())
    }

    fn comment(&mut self) {
        let line = self.line;
        let end = self.rest.find('\n').unwrap_or(self.rest.len());
        let comment = self.take(end)[2..].trim();
        if let Some(settings) = comment.strip_prefix(SETTING) {
            for setting in settings.split_whitespace() {
                let (name, value) = setting.split_once('=').unwrap_or((setting, ""));
                self.out.settings.push(Setting { line, name: name.to_string(), value: value.to_string() });
            }
        }
    }

    fn enclosed(&mut self, begin: &str, end: &str, what: &str) -> Result<&'a str, Problem> {
        let line = self.line;
        let Some(length) = self.rest[begin.len()..].find(end) else {
            return Err(Problem::syntax(line, format!("{what} that begins with {begin} and has no {end}")));
        };
        let taken = self.take(begin.len() + length + end.len());
        Ok(&taken[begin.len()..begin.len() + length])
    }

    fn quoted(&mut self) -> Result<String, Problem> {
        let mut escaped = false;
        for (position, character) in self.rest.char_indices().skip(1) {
            match character {
                _ if escaped => escaped = false,
                '\\' => escaped = true,
                '"' => return Ok(self.take(position + 1)[1..position].to_string()),
                _ => {}
            }
        }
        Err(Problem::syntax(self.line, "a string that has no closing quote".to_string()))
    }

    fn word(&mut self) -> &'a str {
        self.take(self.rest.find(|character| !is_word(character)).unwrap_or(self.rest.len()))
    }

    /// Length of the number at this position, if there is one: digits with at most one point, and no letter after it.
    fn number_length(&self) -> Option<usize> {
        let signless = self.rest.strip_prefix('-').unwrap_or(self.rest);
        let sign = self.rest.len() - signless.len();
        if let Some(digits) = signless.strip_prefix("0x") {
            let length = digits.find(|character| !is_word(character)).unwrap_or(digits.len());
            return (length > 0).then_some(sign + 2 + length);
        }
        let digits = |text: &str| text.find(|character: char| !character.is_ascii_digit()).unwrap_or(text.len());
        let whole = digits(signless);
        let fraction = signless[whole..].strip_prefix('.').map_or(0, digits);
        let length = if fraction > 0 { whole + 1 + fraction } else { whole };
        (length > 0 && !signless[length..].starts_with(is_word)).then_some(sign + length)
    }

    fn number(&mut self, length: usize) -> Result<(), Problem> {
        let line = self.line;
        let text = self.take(length);
        if self.rest.starts_with('.') && self.rest[1..].starts_with(|next: char| next.is_ascii_digit()) {
            let end = self.rest.find(|next: char| !next.is_ascii_digit() && next != '.').unwrap_or(self.rest.len());
            let address = format!("{text}{}", self.take(end));
            self.push(line, Kind::Word(address));
            return Ok(());
        }
        if text.contains('.') {
            self.push(line, Kind::Decimal(text.to_string()));
            return Ok(());
        }
        let (sign, digits) = text.strip_prefix('-').map_or((1, text), |digits| (-1, digits));
        let value = digits
            .strip_prefix("0x")
            .map_or_else(|| digits.parse(), |hexadecimal| i64::from_str_radix(hexadecimal, 16));
        let value: i64 =
            value.map_err(|_| Problem::syntax(line, format!("{text}: a number that is not one, or too great")))?;
        self.push(line, Kind::Integer(sign * value));
        Ok(())
    }
}
