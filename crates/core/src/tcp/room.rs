//! Room for queues that every flow keeps: they grow by an eighth, not by doubling.

use std::collections::VecDeque;

const LEAST: usize = 2;
/// Allocators give memory in multiples of a quantum and keep one word of each piece.
const QUANTUM: usize = 16;
const WORD: usize = 8;

/// Makes room for one more item. Queues grow slowly, because with ten thousand flows the unused room of each queue
/// adds up.
#[inline(always)]
pub fn make_little_room<T>(queue: &mut VecDeque<T>) {
    if queue.len() == queue.capacity() {
        grow(queue);
    }
}

/// Puts an item behind all others.
#[inline(always)]
pub fn push_with_little_room<T>(queue: &mut VecDeque<T>, item: T) {
    make_little_room(queue);
    queue.push_back(item);
}

#[cold]
#[inline(never)]
fn grow<T>(queue: &mut VecDeque<T>) {
    queue.reserve_exact(little_room::<T>(queue.len()) - queue.len());
}

/// Releases memory that a queue of this length would not have been given; all of it if the queue is empty.
pub fn leave_little_room<T>(queue: &mut VecDeque<T>) {
    let wanted = if queue.is_empty() { 0 } else { little_room::<T>(queue.len()) };
    if queue.capacity() > 2 * wanted {
        queue.shrink_to(wanted);
    }
}

/// The capacity that a queue of this length is given.
fn little_room<T>(length: usize) -> usize {
    let wanted = length + (length / 8).max(LEAST);
    let bytes = (wanted * size_of::<T>() + WORD).next_multiple_of(QUANTUM) - WORD;
    bytes / size_of::<T>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_has_an_eighth_of_its_length_to_spare_at_most() {
        let mut queue = VecDeque::new();
        for number in 0..10_000 {
            push_with_little_room(&mut queue, number);
            assert!(queue.capacity() <= queue.len() + (queue.len() / 8).max(LEAST) + QUANTUM / size_of::<i32>());
        }
        assert!(queue.into_iter().eq(0..10_000));
    }
}
