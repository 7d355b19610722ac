//! `%{ ... }%`: assertions and small sums over the connection's state, in the part of Python that scripts use.
//!
//! Statements: `assert condition, message`, `name = value`, `name += value`, `print(...)`. Values are numbers,
//! strings, and the values of `tcpi_...` and `TCP_CA_...`. No other names exist, so a script can do no harm.

use super::Problem;
use std::collections::BTreeMap;
use std::fmt;

/// A block of statements.
#[derive(Debug, Clone, PartialEq)]
pub struct Program {
    statements: Vec<(u32, Statement)>,
}

#[derive(Debug, Clone, PartialEq)]
enum Statement {
    Assert { condition: Expression, message: Option<Expression>, text: String },
    Assign { name: String, operator: Option<String>, value: Expression },
    Print(Vec<Expression>),
}

#[derive(Debug, Clone, PartialEq)]
enum Expression {
    Value(Value),
    Name(String),
    Unary(&'static str, Box<Expression>),
    Binary(Box<Expression>, String, Box<Expression>),
    /// A chain: `a <= b < c`.
    Compare(Box<Expression>, Vec<(String, Expression)>),
    /// Arguments of a format: `'...' % (a, b)`.
    Tuple(Vec<Expression>),
    Call(String, Vec<Expression>),
}

/// A value.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// A whole number.
    Integer(i64),
    /// A number.
    Number(f64),
    /// A string.
    Text(String),
    /// Several, for a format.
    Tuple(Vec<Value>),
}

impl fmt::Display for Value {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Integer(value) => write!(formatter, "{value}"),
            Value::Number(value) => write!(formatter, "{value}"),
            Value::Text(text) => formatter.write_str(text),
            Value::Tuple(values) => {
                let texts: Vec<String> = values.iter().map(ToString::to_string).collect();
                write!(formatter, "({})", texts.join(", "))
            }
        }
    }
}

impl Value {
    fn number(&self) -> Result<f64, String> {
        match self {
            Value::Integer(value) => Ok(*value as f64),
            Value::Number(value) => Ok(*value),
            other => Err(format!("{other} is not a number")),
        }
    }

    fn integer(&self) -> Result<i64, String> {
        match self {
            Value::Integer(value) => Ok(*value),
            other => Err(format!("{other} is not a whole number")),
        }
    }

    fn is_true(&self) -> bool {
        match self {
            Value::Integer(value) => *value != 0,
            Value::Number(value) => *value != 0.0,
            Value::Text(text) => !text.is_empty(),
            Value::Tuple(values) => !values.is_empty(),
        }
    }
}

fn truth(condition: bool) -> Value {
    Value::Integer(i64::from(condition))
}

/// The reason why a block failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Failure {
    /// An assertion does not hold: its line and its message.
    Assertion(u32, String),
    /// A name or an operation that there is not.
    Unknown(u32, String),
}

/// The names that a block may use: names that earlier blocks have set, and a function for names of the connection's
/// state.
pub struct Names<'a> {
    /// Set by blocks.
    pub own: &'a mut BTreeMap<String, Value>,
    /// State of the connection; `None` for an unknown name.
    pub connection: &'a dyn Fn(&str) -> Option<f64>,
    /// The names that `connection` knows, for messages.
    pub known: &'a [&'a str],
}

impl Program {
    /// Parses a block that begins on `line`.
    ///
    /// # Errors
    /// Names the first construct outside the supported part of Python.
    pub fn parse(text: &str, line: u32) -> Result<Program, Problem> {
        let tokens = lex(text, line)?;
        let mut parser = Parser { tokens, position: 0, depth: 0, operators: 0 };
        let mut statements = Vec::new();
        loop {
            while parser.takes("\n") || parser.takes(";") {}
            parser.operators = 0;
            if parser.peek().is_none() {
                return Ok(Program { statements });
            }
            let line = parser.line();
            let statement = parser.statement()?;
            statements.push((line, statement));
            if !matches!(parser.peek(), None | Some("\n" | ";")) {
                return parser.refuse("the end of the statement");
            }
        }
    }

    /// Runs it.
    ///
    /// # Errors
    /// The first assertion that does not hold, or a name that nothing knows.
    pub fn run(&self, names: &mut Names<'_>) -> Result<(), Failure> {
        for (line, statement) in &self.statements {
            let unknown = |text| Failure::Unknown(*line, text);
            match statement {
                Statement::Assert { condition, message, text } => {
                    if !condition.evaluate(names).map_err(unknown)?.is_true() {
                        let said = match message {
                            Some(message) => format!(": {}", message.evaluate(names).map_err(unknown)?),
                            None => String::new(),
                        };
                        let found = condition.found(names).map_err(unknown)?;
                        return Err(Failure::Assertion(*line, format!("assert {text}{said}{found}")));
                    }
                }
                Statement::Assign { name, operator, value } => {
                    let mut value = value.evaluate(names).map_err(unknown)?;
                    if let Some(operator) = operator {
                        let old = lookup(name, names).map_err(unknown)?;
                        value = binary(&old, operator, &value).map_err(unknown)?;
                    }
                    names.own.insert(name.clone(), value);
                }
                Statement::Print(values) => {
                    values.iter().try_for_each(|value| value.evaluate(names).map(|_| ())).map_err(unknown)?;
                }
            }
        }
        Ok(())
    }

    /// The names that it sets.
    pub fn sets(&self) -> impl Iterator<Item = &str> {
        self.statements.iter().filter_map(|(_, statement)| match statement {
            Statement::Assign { name, .. } => Some(name.as_str()),
            _ => None,
        })
    }

    /// The names that it reads, each with its line.
    pub fn names(&self) -> Vec<(u32, &str)> {
        let mut found = Vec::new();
        for (line, statement) in &self.statements {
            let expressions: Vec<&Expression> = match statement {
                Statement::Assert { condition, message, .. } => std::iter::once(condition).chain(message).collect(),
                Statement::Assign { value, .. } => vec![value],
                Statement::Print(values) => values.iter().collect(),
            };
            for expression in expressions {
                let mut names = Vec::new();
                expression.names(&mut names);
                found.extend(names.into_iter().map(|name| (*line, name)));
            }
        }
        found
    }
}

fn lookup(name: &str, names: &Names<'_>) -> Result<Value, String> {
    if let Some(value) = names.own.get(name) {
        return Ok(value.clone());
    }
    match (names.connection)(name) {
        Some(value) if value.fract() == 0.0 && value.abs() < 9e15 => Ok(Value::Integer(value as i64)),
        Some(value) => Ok(Value::Number(value)),
        None => Err(format!("{name}: not known; of the connection there is {}", names.known.join(", "))),
    }
}

fn binary(left: &Value, operator: &str, right: &Value) -> Result<Value, String> {
    if let (Value::Text(format), "%") = (left, operator) {
        return format_text(format, right);
    }
    if let (Value::Integer(left), Value::Integer(right)) = (left, right) {
        let checked = match operator {
            "+" => left.checked_add(*right),
            "-" => left.checked_sub(*right),
            "*" => left.checked_mul(*right),
            "//" => floor_division(*left, *right).map(|(quotient, _)| quotient),
            "%" => floor_division(*left, *right).map(|(_, remainder)| remainder),
            "&" => Some(left & right),
            "|" => Some(left | right),
            "^" => Some(left ^ right),
            "<<" => u32::try_from(*right).ok().and_then(|shift| left.checked_shl(shift)),
            ">>" => u32::try_from(*right).ok().and_then(|shift| left.checked_shr(shift)),
            _ => None,
        };
        if let Some(value) = checked {
            return Ok(Value::Integer(value));
        }
    }
    let (left, right) = (left.number()?, right.number()?);
    let value = match operator {
        "+" => left + right,
        "-" => left - right,
        "*" => left * right,
        "/" | "//" | "%" if right == 0.0 => return Err("a division by zero".to_string()),
        "/" => left / right,
        "//" => (left / right).floor(),
        "%" => left - right * (left / right).floor(),
        other => return Err(format!("{left} {other} {right}: not for these numbers")),
    };
    Ok(Value::Number(value))
}

/// Python's quotient, rounded down, and its remainder, which has the divisor's sign. `None` if there is no such whole number.
fn floor_division(left: i64, right: i64) -> Option<(i64, i64)> {
    let (quotient, remainder) = (left.checked_div(right)?, left.checked_rem(right)?);
    let rounds_up = remainder != 0 && (remainder < 0) != (right < 0);
    Some(if rounds_up { (quotient - 1, remainder + right) } else { (quotient, remainder) })
}

fn compare(left: &Value, operator: &str, right: &Value) -> Result<bool, String> {
    if let (Value::Text(left), Value::Text(right)) = (left, right) {
        return match operator {
            "==" => Ok(left == right),
            "!=" => Ok(left != right),
            _ => Err("strings are only compared for being equal".to_string()),
        };
    }
    let (left, right) = (left.number()?, right.number()?);
    Ok(match operator {
        "==" => left == right,
        "!=" => left != right,
        "<" => left < right,
        "<=" => left <= right,
        ">" => left > right,
        _ => left >= right,
    })
}

fn format_text(format: &str, values: &Value) -> Result<Value, String> {
    let values = match values {
        Value::Tuple(values) => values.clone(),
        one => vec![one.clone()],
    };
    let (mut out, mut values) = (String::new(), values.into_iter());
    let mut rest = format.chars().peekable();
    while let Some(character) = rest.next() {
        if character != '%' {
            out.push(character);
        } else if rest.peek() == Some(&'%') {
            rest.next();
            out.push('%');
        } else {
            while rest.next().is_some_and(|letter| !letter.is_ascii_alphabetic()) {}
            out.push_str(&values.next().ok_or("a format with more places than values")?.to_string());
        }
    }
    Ok(Value::Text(out))
}

impl Expression {
    fn evaluate(&self, names: &Names<'_>) -> Result<Value, String> {
        Ok(match self {
            Expression::Value(value) => value.clone(),
            Expression::Name(name) => lookup(name, names)?,
            Expression::Unary("not", operand) => truth(!operand.evaluate(names)?.is_true()),
            Expression::Unary(operator, operand) => match operand.evaluate(names)? {
                Value::Integer(value) if *operator == "~" => Value::Integer(!value),
                Value::Integer(value) => Value::Integer(value.checked_neg().ok_or("too small a number")?),
                other => Value::Number(-other.number()?),
            },
            Expression::Binary(left, operator, right) => {
                let left = left.evaluate(names)?;
                match operator.as_str() {
                    "and" if !left.is_true() => left,
                    "or" if left.is_true() => left,
                    "and" | "or" => right.evaluate(names)?,
                    operator => binary(&left, operator, &right.evaluate(names)?)?,
                }
            }
            Expression::Compare(first, chain) => {
                let mut left = first.evaluate(names)?;
                for (operator, right) in chain {
                    let right = right.evaluate(names)?;
                    if !compare(&left, operator, &right)? {
                        return Ok(truth(false));
                    }
                    left = right;
                }
                truth(true)
            }
            Expression::Tuple(values) => {
                Value::Tuple(values.iter().map(|value| value.evaluate(names)).collect::<Result<_, _>>()?)
            }
            Expression::Call(name, arguments) => {
                let arguments =
                    arguments.iter().map(|argument| argument.evaluate(names)).collect::<Result<Vec<_>, _>>()?;
                call(name, &arguments)?
            }
        })
    }

    /// The values of the names in a condition that does not hold.
    fn found(&self, names: &Names<'_>) -> Result<String, String> {
        let mut used = Vec::new();
        self.names(&mut used);
        used.dedup();
        let values: Result<Vec<String>, String> =
            used.iter().map(|name| Ok(format!("{name} = {}", lookup(name, names)?))).collect();
        let values = values?;
        Ok(if values.is_empty() { String::new() } else { format!(" ({})", values.join(", ")) })
    }

    fn names<'a>(&'a self, found: &mut Vec<&'a str>) {
        match self {
            Expression::Value(_) => {}
            Expression::Name(name) => found.push(name),
            Expression::Unary(_, operand) => operand.names(found),
            Expression::Binary(left, _, right) => {
                left.names(found);
                right.names(found);
            }
            Expression::Compare(first, chain) => {
                first.names(found);
                chain.iter().for_each(|(_, right)| right.names(found));
            }
            Expression::Tuple(values) | Expression::Call(_, values) => {
                values.iter().for_each(|value| value.names(found));
            }
        }
    }
}

const FUNCTIONS: [&str; 4] = ["abs", "int", "min", "max"];

fn call(name: &str, arguments: &[Value]) -> Result<Value, String> {
    let least = |wanted: std::cmp::Ordering| -> Result<Value, String> {
        let mut best = arguments.first().ok_or("min and max need values")?;
        for argument in arguments {
            if argument.number()?.partial_cmp(&best.number()?) == Some(wanted) {
                best = argument;
            }
        }
        Ok(best.clone())
    };
    match (name, arguments) {
        ("abs", [Value::Integer(value)]) => Ok(Value::Integer(value.saturating_abs())),
        ("abs", [value]) => Ok(Value::Number(value.number()?.abs())),
        ("int", [Value::Number(value)]) => Ok(Value::Integer(*value as i64)),
        ("int", [value]) => Ok(Value::Integer(value.integer()?)),
        ("min", _) => least(std::cmp::Ordering::Less),
        ("max", _) => least(std::cmp::Ordering::Greater),
        _ => Err(format!("{name}() is not known; there are {}", FUNCTIONS.join(", "))),
    }
}

#[derive(Debug, Clone, PartialEq)]
struct Token {
    line: u32,
    text: String,
    /// The value of a number or a string.
    value: Option<Value>,
}

const SIGNS: [&str; 25] = [
    "//", "<<", ">>", "<=", ">=", "==", "!=", "+=", "-=", "*=", "+", "-", "*", "/", "%", "&", "|", "^", "~", "<", ">",
    "=", "(", ")", ",",
];

fn lex(text: &str, first_line: u32) -> Result<Vec<Token>, Problem> {
    let (mut tokens, mut line, mut rest) = (Vec::new(), first_line, text);
    let mut depth = 0u32;
    while let Some(first) = rest.chars().next() {
        let mut length = first.len_utf8();
        let mut token = None;
        if first == '\n' || first == ';' {
            if depth == 0 {
                token = Some(Token { line, text: first.to_string(), value: None });
            }
            line += u32::from(first == '\n');
        } else if first == '#' {
            length = rest.find('\n').unwrap_or(rest.len());
        } else if first.is_ascii_digit() || (first == '.' && rest[1..].starts_with(|next: char| next.is_ascii_digit()))
        {
            length = rest.find(|next: char| !next.is_ascii_alphanumeric() && next != '.').unwrap_or(rest.len());
            let digits = &rest[..length];
            let integer = digits
                .strip_prefix("0x")
                .map_or_else(|| digits.parse(), |hexadecimal| i64::from_str_radix(hexadecimal, 16));
            let value = integer.map(Value::Integer).or_else(|_| digits.parse().map(Value::Number));
            let value = value.map_err(|_| Problem::syntax(line, format!("{digits}: not a number")))?;
            token = Some(Token { line, text: digits.to_string(), value: Some(value) });
        } else if first.is_ascii_alphabetic() || first == '_' {
            length = rest.find(|next: char| !next.is_ascii_alphanumeric() && next != '_').unwrap_or(rest.len());
            token = Some(Token { line, text: rest[..length].to_string(), value: None });
        } else if first == '\'' || first == '"' {
            let Some(end) = rest[1..].find(first) else {
                return Err(Problem::syntax(line, "a string that has no closing quote".to_string()));
            };
            length = end + 2;
            let value = Some(Value::Text(rest[1..=end].to_string()));
            token = Some(Token { line, text: rest[..length].to_string(), value });
            line += rest[..length].matches('\n').count() as u32;
        } else if !first.is_whitespace() && first != '\\' {
            let Some(sign) = SIGNS.iter().find(|sign| rest.starts_with(**sign)) else {
                return Err(Problem::refused(
                    line,
                    format!("{first} in code: only assertions and sums are understood"),
                ));
            };
            length = sign.len();
            match *sign {
                "(" => depth += 1,
                ")" => depth = depth.saturating_sub(1),
                _ => {}
            }
            token = Some(Token { line, text: (*sign).to_string(), value: None });
        }
        tokens.extend(token);
        rest = &rest[length..];
    }
    Ok(tokens)
}

struct Parser {
    tokens: Vec<Token>,
    position: usize,
    depth: u32,
    /// Binary operators of the statement so far.
    operators: u32,
}

/// Brackets within brackets that a condition may have.
const MOST_NESTED: u32 = 64;
/// Binary operators that a statement may have: each nests the value before it once more.
const MOST_OPERATORS: u32 = 500;

/// Binary operators of Python, the loosest first; comparisons and `not` come between the second and the third.
const LEVELS: [&[&str]; 7] = [&["or"], &["and"], &["|"], &["^"], &["&"], &["<<", ">>"], &["+", "-"]];
const PRODUCTS: [&str; 4] = ["*", "/", "//", "%"];
const COMPARISONS: [&str; 6] = ["==", "!=", "<", "<=", ">", ">="];
const KEYWORDS: [&str; 15] = [
    "if", "for", "while", "import", "from", "def", "class", "with", "try", "return", "lambda", "del", "global", "exec",
    "in",
];

impl Parser {
    fn peek(&self) -> Option<&str> {
        self.tokens.get(self.position).map(|token| token.text.as_str())
    }

    fn line(&self) -> u32 {
        self.tokens.get(self.position).or(self.tokens.last()).map_or(1, |token| token.line)
    }

    fn takes(&mut self, text: &str) -> bool {
        let is_next = self.peek() == Some(text);
        self.position += usize::from(is_next);
        is_next
    }

    fn takes_one_of(&mut self, texts: &[&str]) -> Option<String> {
        let found = self.peek().filter(|next| texts.contains(next))?.to_string();
        self.position += 1;
        Some(found)
    }

    fn refuse<T>(&self, wanted: &str) -> Result<T, Problem> {
        let found = match self.peek() {
            None => "the end",
            Some("\n") => "the end of the line",
            Some(text) => text,
        };
        Err(Problem::refused(
            self.line(),
            format!("{found} in code: here should be {wanted}; only assertions, assignments and print are understood"),
        ))
    }

    fn is_name(&self) -> bool {
        self.tokens.get(self.position).is_some_and(|token| {
            token.value.is_none()
                && token.text.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
                && !KEYWORDS.contains(&token.text.as_str())
        })
    }

    fn statement(&mut self) -> Result<Statement, Problem> {
        if self.takes("assert") {
            let start = self.position;
            let condition = self.expression()?;
            let text: Vec<&str> = self.tokens[start..self.position].iter().map(|token| token.text.as_str()).collect();
            let text = text.join(" ");
            let message = if self.takes(",") { Some(self.expression()?) } else { None };
            return Ok(Statement::Assert { condition, message, text });
        }
        if !self.is_name() {
            return self.refuse("a statement");
        }
        let name = self.tokens[self.position].text.clone();
        self.position += 1;
        if name == "print" && self.takes("(") {
            return Ok(Statement::Print(self.arguments()?));
        }
        if self.takes("=") {
            return Ok(Statement::Assign { name, operator: None, value: self.expression()? });
        }
        match self.takes_one_of(&["+=", "-=", "*="]) {
            Some(operator) => {
                let operator = Some(operator[..1].to_string());
                Ok(Statement::Assign { name, operator, value: self.expression()? })
            }
            None => self.refuse("= or +="),
        }
    }

    fn expression(&mut self) -> Result<Expression, Problem> {
        self.depth += 1;
        if self.depth > MOST_NESTED {
            return self.refuse("fewer brackets");
        }
        let found = self.level(0);
        self.depth -= 1;
        found
    }

    fn level(&mut self, level: usize) -> Result<Expression, Problem> {
        if level == 2 {
            return self.comparison();
        }
        self.binary_level(level)
    }

    fn binary_level(&mut self, level: usize) -> Result<Expression, Problem> {
        let Some(operators) = LEVELS.get(level) else { return self.product() };
        let below =
            |parser: &mut Parser| if level < 2 { parser.level(level + 1) } else { parser.binary_level(level + 1) };
        self.chain(operators, below)
    }

    fn comparison(&mut self) -> Result<Expression, Problem> {
        let mut inversions = 0u32;
        while self.takes("not") {
            inversions += 1;
        }
        let first = self.binary_level(2)?;
        let mut chain = Vec::new();
        while let Some(operator) = self.takes_one_of(&COMPARISONS) {
            chain.push((operator, self.binary_level(2)?));
        }
        let mut found = if chain.is_empty() { first } else { Expression::Compare(Box::new(first), chain) };
        for _ in 0..inversions.min(2 + inversions % 2) {
            found = Expression::Unary("not", Box::new(found));
        }
        Ok(found)
    }

    fn product(&mut self) -> Result<Expression, Problem> {
        self.chain(&PRODUCTS, Parser::unary)
    }

    /// Operands joined by operators that bind equally, from the left.
    fn chain(
        &mut self,
        operators: &[&str],
        operand: impl Fn(&mut Parser) -> Result<Expression, Problem>,
    ) -> Result<Expression, Problem> {
        let mut left = operand(self)?;
        while let Some(operator) = self.takes_one_of(operators) {
            self.operators += 1;
            if self.operators > MOST_OPERATORS {
                return self.refuse("fewer operators in a statement");
            }
            left = Expression::Binary(Box::new(left), operator, Box::new(operand(self)?));
        }
        Ok(left)
    }

    fn unary(&mut self) -> Result<Expression, Problem> {
        for operator in ["-", "~"] {
            if self.takes(operator) {
                return Ok(Expression::Unary(operator, Box::new(self.atom()?)));
            }
        }
        self.atom()
    }

    fn atom(&mut self) -> Result<Expression, Problem> {
        if let Some(value) = self.tokens.get(self.position).and_then(|token| token.value.clone()) {
            self.position += 1;
            return Ok(Expression::Value(value));
        }
        if self.takes("(") {
            let mut values = self.arguments()?;
            return Ok(if values.len() == 1 { values.remove(0) } else { Expression::Tuple(values) });
        }
        if !self.is_name() {
            return self.refuse("a value");
        }
        let (line, name) = (self.line(), self.tokens[self.position].text.clone());
        self.position += 1;
        if self.takes("(") {
            if !FUNCTIONS.contains(&name.as_str()) {
                let known = FUNCTIONS.join(", ");
                return Err(Problem::refused(line, format!("{name}() in code: there are {known}")));
            }
            return Ok(Expression::Call(name, self.arguments()?));
        }
        Ok(Expression::Name(name))
    }

    /// Up to the closing bracket.
    fn arguments(&mut self) -> Result<Vec<Expression>, Problem> {
        let mut values = Vec::new();
        while !self.takes(")") {
            values.push(self.expression()?);
            if !self.takes(",") && self.peek() != Some(")") {
                return self.refuse("\")\"");
            }
        }
        Ok(values)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(text: &str) -> Result<BTreeMap<String, Value>, Failure> {
        let mut own = BTreeMap::new();
        let connection = |name: &str| (name == "tcpi_snd_cwnd").then_some(10.0);
        Program::parse(text, 1).expect(text).run(&mut Names {
            own: &mut own,
            connection: &connection,
            known: &["tcpi_snd_cwnd"],
        })?;
        Ok(own)
    }

    #[test]
    fn operators_bind_as_in_python() {
        let own =
            run("a = 1 + 2 * 3 - 4 // 3; b = 1 < 2 < 3 and not 2 > 3; c = 7 & 3 | 8; d = -7 % 3; e = (1 << 4) / 32")
                .unwrap();
        let values: Vec<&Value> = ["a", "b", "c", "d", "e"].map(|name| &own[name]).to_vec();
        let wanted = [6, 1, 11, 2].map(Value::Integer);
        assert_eq!(values[..4], wanted.iter().collect::<Vec<_>>());
        assert_eq!(values[4], &Value::Number(0.5));
    }

    /// The values are Python's.
    #[test]
    fn divisions_round_down_as_in_python() {
        let own = run("a = 7 // -2; b = 7 % -2; c = -7 // 2; d = -8 // -2; e = -7 % -2; f = 8 % -2").unwrap();
        let values = ["a", "b", "c", "d", "e", "f"].map(|name| own[name].clone());
        assert_eq!(values, [-4, -1, -4, 4, -1, 0].map(Value::Integer));
        let own = run("least = -9223372036854775807 - 1; a = least // -1; b = least % -1").unwrap();
        assert_eq!([&own["a"], &own["b"]], [&Value::Number(2f64.powi(63)), &Value::Number(0.0)]);
    }

    #[test]
    fn a_sum_of_too_many_terms_is_refused_and_not_the_end_of_the_stack() {
        let sum = |terms: usize, sign: &str| format!("assert 0 or {}", vec!["1"; terms].join(sign));
        for sign in ["+", "*", " and ", "|"] {
            assert_eq!(run(&sum(400, sign)), Ok(BTreeMap::new()));
            let refused = Program::parse(&sum(300_000, sign), 1).unwrap_err();
            assert!(refused.text.contains("fewer operators"), "{refused}");
        }
    }

    #[test]
    fn an_assertion_that_fails_says_its_line_and_what_it_found() {
        let failure = run("\nx = 12  # a comment\nassert tcpi_snd_cwnd == x, 'cwnd=%d' % tcpi_snd_cwnd").unwrap_err();
        let text = "assert tcpi_snd_cwnd == x: cwnd=10 (tcpi_snd_cwnd = 10, x = 12)".to_string();
        assert_eq!(failure, Failure::Assertion(3, text));
        assert!(
            run("print(tcpi_snd_cwnd); cwnd = 9; cwnd += 1; assert 10 <= tcpi_snd_cwnd <= cwnd, tcpi_snd_cwnd").is_ok()
        );
    }

    #[test]
    fn a_name_that_is_not_known_and_a_statement_that_is_not_understood_are_named() {
        let Failure::Unknown(1, text) = run("assert tcpi_nothing == 1").unwrap_err() else { panic!() };
        assert!(text.starts_with("tcpi_nothing: not known"), "{text}");
        for text in ["import os", "os.system('x')", "open('x')", "assert [1]"] {
            assert!(Program::parse(text, 1).expect_err(text).refused, "{text}");
        }
    }
}
