//! The three things that an account's limits count apart.

/// One value for requests, one for input tokens, one for output tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PerDimension<T> {
    /// Of requests.
    pub requests: T,
    /// Of input tokens.
    pub input: T,
    /// Of output tokens.
    pub output: T,
}

impl<T> PerDimension<T> {
    /// `change` of each.
    pub fn map<U>(self, mut change: impl FnMut(T) -> U) -> PerDimension<U> {
        PerDimension {
            requests: change(self.requests),
            input: change(self.input),
            output: change(self.output),
        }
    }

    /// Each beside the other's of the same dimension.
    pub fn zip<U>(self, other: PerDimension<U>) -> PerDimension<(T, U)> {
        PerDimension {
            requests: (self.requests, other.requests),
            input: (self.input, other.input),
            output: (self.output, other.output),
        }
    }

    /// Each, borrowed.
    pub fn as_ref(&self) -> PerDimension<&T> {
        PerDimension { requests: &self.requests, input: &self.input, output: &self.output }
    }

    /// Each, to be changed.
    pub fn as_mut(&mut self) -> PerDimension<&mut T> {
        PerDimension { requests: &mut self.requests, input: &mut self.input, output: &mut self.output }
    }
}

impl<T> IntoIterator for PerDimension<T> {
    type Item = T;
    type IntoIter = std::array::IntoIter<T, 3>;

    /// Requests, input, output.
    fn into_iter(self) -> Self::IntoIter {
        [self.requests, self.input, self.output].into_iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_meets_its_own() {
        let limits = PerDimension { requests: 1, input: 2, output: 3 };
        let asked = PerDimension { requests: 10, input: 20, output: 30 };
        let sums = limits.zip(asked).map(|(limit, asked)| limit + asked);
        assert_eq!(sums.into_iter().collect::<Vec<i32>>(), [11, 22, 33]);
        let mut own = limits;
        *own.as_mut().input = 5;
        assert_eq!((own.as_ref().input, *own.as_ref().output), (&5, 3));
    }
}
