//! Parameters of algorithms, declared once: the struct, its defaults, its ranges and its description for users.
//!
//! The Python schema and the command line read [`ParameterInfo`], so that an algorithm is added in Rust alone.

use crate::units::Duration;
use serde::{Deserialize, Serialize};

/// Public description of one parameter.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ParameterInfo {
    /// The key in a scenario, in snake case.
    pub name: &'static str,
    /// `number`, `share` (of 1), `integer`, `integers`, `boolean`, `choice`, or a kind with units in scenarios: `duration` (here
    /// picoseconds), `positive duration`, `size` (bytes above zero) or `packets` (above zero).
    pub kind: &'static str,
    /// The default, in the parameter's kind; null for a parameter that must be given.
    pub default: serde_json::Value,
    /// The least and greatest value allowed, for numbers and integers.
    pub range: Option<(f64, f64)>,
    /// The names that a choice may have.
    pub choices: &'static [&'static str],
    /// One or two sentences: meaning, unit, source.
    pub doc: String,
}

/// Description of one algorithm for the scenario schema.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AlgorithmInfo {
    /// The name in a scenario, in kebab case.
    pub name: &'static str,
    /// One line: subject and source.
    pub summary: &'static str,
    /// Parameters of the algorithm, in the order of declaration.
    pub parameters: Vec<ParameterInfo>,
}

/// A type that a parameter may have.
pub trait ParameterType: Serialize {
    /// The name of the kind, as in [`ParameterInfo::kind`].
    const KIND: &'static str;
    /// The names that a choice may have.
    const CHOICES: &'static [&'static str] = &[];
    /// The value for a check of its range, where it has one.
    fn number(&self) -> Option<f64>;
}

impl ParameterType for f64 {
    const KIND: &'static str = "number";
    fn number(&self) -> Option<f64> {
        Some(*self)
    }
}

/// A share of 1, such as a probability; a scenario may give it in per cent.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Share(pub f64);

impl ParameterType for Share {
    const KIND: &'static str = "share";
    fn number(&self) -> Option<f64> {
        Some(self.0)
    }
}

impl ParameterType for u32 {
    const KIND: &'static str = "integer";
    fn number(&self) -> Option<f64> {
        Some(f64::from(*self))
    }
}

impl ParameterType for u64 {
    const KIND: &'static str = "integer";
    fn number(&self) -> Option<f64> {
        Some(*self as f64)
    }
}

impl ParameterType for bool {
    const KIND: &'static str = "boolean";
    fn number(&self) -> Option<f64> {
        None
    }
}

impl ParameterType for Duration {
    const KIND: &'static str = "duration";
    fn number(&self) -> Option<f64> {
        None
    }
}

/// Builds a registry: the tagged choice of a scenario, with check and description. If it `builds` boxed state machines of a
/// trait from a context, it has their constructor. An algorithm's module may lie `in` a folder. `without` a trait: the algorithm has
/// its default methods only. If its parameters implement a trait, it gives access to that.
#[macro_export]
macro_rules! algorithm_registry {
    (
        $(#[$outer:meta])*
        pub enum $spec:ident builds dyn $behaviour:ident from $context:ident {
            $(
                $(#[doc = $summary:literal])+
                $variant:ident = $name:literal : $module:ident :: $state:ident $(in $folder:ident)? $(without $defaults:ident)?
            ),* $(,)?
        }
    ) => {
        $( $crate::algorithm_registry! { @default [$($defaults)?] $($folder::)? $module::$state } )*

        $crate::algorithm_registry! {
            $(#[$outer])*
            pub enum $spec { $( $(#[doc = $summary])+ $variant = $name : $module $(in $folder)? ),* }
        }

        impl $spec {
            /// A fresh state machine for one flow.
            pub fn build(&self, context: $context) -> Box<dyn $behaviour> {
                match self {
                    $( $spec::$variant(parameters) => Box::new($($folder::)? $module::$state::new(*parameters, context)), )*
                }
            }
        }
    };
    (
        $(#[$outer:meta])*
        pub enum $spec:ident {
            $( $(#[doc = $summary:literal])+ $variant:ident = $name:literal : $module:ident $(in $folder:ident)? ),* $(,)?
        }
    ) => {
        $crate::algorithm_registry! {
            @declare "name", [Copy], $(#[$outer])* $spec { $( $(#[doc = $summary])+ $variant = $name : $module $(in $folder)? ),* }
        }
    };
    (
        $(#[$outer:meta])*
        pub enum $spec:ident by $tag:literal, parameters as dyn $behaviour:ident {
            $( $(#[doc = $summary:literal])+ $variant:ident = $name:literal : $module:ident $(in $folder:ident)? ),* $(,)?
        }
    ) => {
        $crate::algorithm_registry! {
            @declare $tag, [], $(#[$outer])* $spec { $( $(#[doc = $summary])+ $variant = $name : $module $(in $folder)? ),* }
        }

        impl $spec {
            /// The parameters, as their shared trait.
            fn parameters(&self) -> &dyn $behaviour {
                match self {
                    $( $spec::$variant(parameters) => parameters, )*
                }
            }
        }
    };
    (@default [] $($state:tt)*) => {};
    (@default [$defaults:ident] $($state:tt)*) => { impl $defaults for $($state)* {} };
    (
        @declare $tag:literal, [$($derived:ident)?],
        $(#[$outer:meta])*
        $spec:ident {
            $( $(#[doc = $summary:literal])+ $variant:ident = $name:literal : $module:ident $(in $folder:ident)? ),*
        }
    ) => {
        $(#[$outer])*
        #[derive(Debug, Clone, $($derived,)? PartialEq, serde::Serialize, serde::Deserialize)]
        #[serde(tag = $tag)]
        pub enum $spec {
            $( $(#[doc = $summary])+ #[serde(rename = $name)] $variant($($folder::)? $module::Parameters), )*
        }

        impl $spec {
            /// The name in a scenario.
            pub fn name(&self) -> &'static str {
                match self {
                    $( $spec::$variant(_) => $name, )*
                }
            }

            /// Refuses a parameter out of its range.
            ///
            /// # Errors
            /// Names the parameter, its value and a correct value.
            pub fn check(&self) -> Result<(), String> {
                match self {
                    $( $spec::$variant(parameters) => parameters.check(), )*
                }
            }

            /// The problem of a choice in JSON; `None` if it is valid.
            pub fn problem_of(json: &str) -> Option<String> {
                let choice = serde_json::from_str::<$spec>(json).map_err(|error| error.to_string());
                choice.and_then(|choice| choice.check()).err()
            }

            /// All that can be chosen, for the scenario schema.
            pub fn describe() -> Vec<$crate::parameters::AlgorithmInfo> {
                vec![ $( $crate::parameters::AlgorithmInfo {
                    name: $name,
                    summary: concat!($($summary),+).trim_ascii(),
                    parameters: $($folder::)? $module::Parameters::describe(),
                } ),* ]
            }
        }
    };
}

/// Declares a parameter's choice: an enum whose values have names in scenarios. `tests::a_choice_has_names` shows one.
#[macro_export]
macro_rules! choice {
    (
        $(#[$outer:meta])*
        pub enum $choice:ident {
            $( $(#[doc = $doc:literal])+ $variant:ident = $name:literal ),* $(,)?
        }
    ) => {
        $(#[$outer])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
        pub enum $choice {
            $( $(#[doc = $doc])+ #[serde(rename = $name)] $variant, )*
        }

        impl $crate::parameters::ParameterType for $choice {
            const KIND: &'static str = "choice";
            const CHOICES: &'static [&'static str] = &[$($name),*];
            fn number(&self) -> Option<f64> {
                None
            }
        }
    };
}

/// Declares an algorithm's `Parameters`: each field with its documentation, its type, and optionally its kind, default and range. A function
/// after `check` refuses combinations that ranges cannot refuse. `tests::parameters_have_defaults_and_ranges` shows an example.
#[macro_export]
macro_rules! parameters {
    (@default) => { Default::default() };
    (@default $default:expr) => { $default };
    (@kind $type:ty) => { <$type as $crate::parameters::ParameterType>::KIND };
    (@kind $type:ty, $kind:literal) => { $kind };
    (@described $value:expr) => { serde_json::Value::Null };
    (@described $value:expr, $default:expr) => { serde_json::json!($value) };
    (
        $(#[$outer:meta])*
        pub struct $name:ident {
            $(
                $(#[doc = $doc:literal])*
                pub $field:ident : $kind:ty $(as $shown:literal)? $(= $default:expr)? $(, in $low:literal ..= $high:expr)? ;
            )*
        }
        $(check $check:ident)?
    ) => {
        $(#[$outer])*
        #[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
        #[serde(default, deny_unknown_fields)]
        pub struct $name {
            $( $(#[doc = $doc])* pub $field: $kind, )*
        }

        impl Default for $name {
            fn default() -> Self {
                $name { $( $field: $crate::parameters!(@default $($default)?), )* }
            }
        }

        impl $name {
            /// Public description of each parameter.
            pub fn describe() -> Vec<$crate::parameters::ParameterInfo> {
                #[allow(unused_variables)]
                let defaults = $name::default();
                vec![ $( {
                    #[allow(unused_mut, unused_assignments)]
                    let mut range: Option<(f64, f64)> = None;
                    $( range = Some(($low as f64, $high as f64)); )?
                    $crate::parameters::ParameterInfo {
                        name: stringify!($field),
                        kind: $crate::parameters!(@kind $kind $(, $shown)?),
                        default: $crate::parameters!(@described defaults.$field $(, $default)?),
                        range,
                        choices: <$kind as $crate::parameters::ParameterType>::CHOICES,
                        doc: [$($doc),*].map(str::trim).join(" "),
                    }
                } ),* ]
            }

            /// Refuses a parameter out of its range.
            ///
            /// # Errors
            /// Names the parameter, its value and a correct value.
            pub fn check(&self) -> Result<(), String> {
                $( $(
                    if let Some(value) = $crate::parameters::ParameterType::number(&self.$field)
                        && !($low as f64 ..= $high as f64).contains(&value)
                    {
                        return Err(format!(
                            "{} = {value}: must be between {} and {}", stringify!($field), $low, $high
                        ));
                    }
                )? )*
                $( $check(self)?; )?
                Ok(())
            }
        }
    };
}

#[cfg(test)]
mod tests {
    mod night {
        crate::choice! {
            /// What to do in the dark.
            pub enum Night {
                /// Nothing.
                Sleep = "sleep",
                /// Go on.
                Wake = "stay-awake",
            }
        }
        crate::parameters! {
            /// A day.
            pub struct Parameters {
                /// The night.
                pub night: Night = Night::Sleep;
            }
        }
    }

    mod halving {
        crate::parameters! {
            /// A window that halves.
            pub struct Parameters {
                /// What remains of the window after a loss.
                pub beta: f64 = 0.5, in 0.0..=1.0;
                /// Whether to grow at all.
                pub grow: bool = true;
            }
        }
    }

    #[test]
    fn a_choice_has_names() {
        let described = &night::Parameters::describe()[0];
        assert_eq!((described.kind, described.choices), ("choice", ["sleep", "stay-awake"].as_slice()));
        assert_eq!(described.default, "sleep");
        assert_eq!(night::Parameters::default().check(), Ok(()));
    }

    #[test]
    fn parameters_have_defaults_and_ranges() {
        assert_eq!(halving::Parameters::default().beta, 0.5);
        assert_eq!(halving::Parameters::describe()[0].range, Some((0.0, 1.0)));
        assert!(halving::Parameters { beta: 2.0, grow: true }.check().is_err());
    }
}
