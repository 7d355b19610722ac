mod compiled;
mod instructions;
mod mutations;
mod objects;

use crate::{Kernel, Memory};

/// A kernel whose clock and random numbers count its calls.
#[derive(Default)]
pub struct CountingKernel(u64);

impl Kernel for CountingKernel {
    fn time_ns(&mut self) -> u64 {
        self.0 += 1;
        self.0
    }

    fn jiffies(&mut self) -> u64 {
        self.time_ns()
    }

    fn random(&mut self) -> u32 {
        self.time_ns() as u32
    }

    fn call(&mut self, function: usize, arguments: &[u64; 5], _memory: &mut Memory) -> Result<u64, String> {
        Ok(arguments[1].wrapping_add(function as u64))
    }
}
