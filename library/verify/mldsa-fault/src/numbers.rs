//! A small generator of numbers (splitmix64): what is injected follows from a seed.

#[derive(Clone)]
pub struct Numbers(u64);

impl Numbers {
    /// A stream of its own for each list of words.
    pub fn of(words: &[u64]) -> Self {
        let mut numbers = Numbers(0);
        for word in words {
            numbers.0 ^= word;
            numbers.0 = numbers.draw();
        }
        numbers
    }

    pub fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ x >> 31
    }

    /// Below `bound`, which is not 0.
    pub fn below(&mut self, bound: usize) -> usize {
        (self.draw() % bound as u64) as usize
    }

    pub fn one_of<'a, T>(&mut self, list: &'a [T]) -> Option<&'a T> {
        (!list.is_empty()).then(|| &list[self.below(list.len())])
    }

    pub fn bytes<const COUNT: usize>(&mut self) -> [u8; COUNT] {
        std::array::from_fn(|_| self.draw() as u8)
    }
}
