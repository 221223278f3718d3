//! A logarithmic axis: what is compared differs by factors, not by amounts.

use crate::figures::figure;

/// Maps values to places on a drawing.
#[derive(Clone, Copy, Debug)]
pub(super) struct Axis {
    low: f64,
    high: f64,
    from: f64,
    to: f64,
}

impl Axis {
    /// An axis over whole powers of ten that holds all these values, drawn between two places.
    pub(super) fn over(values: impl Iterator<Item = f64>, from: f64, to: f64) -> Self {
        let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
        for value in values.filter(|value| *value > 0.0) {
            (low, high) = (low.min(value.log10()), high.max(value.log10()));
        }
        let (low, high) = if low <= high { (low, high) } else { (0.0, 1.0) };
        let low = (low - 0.05).floor();
        Self { low, high: (high + 0.05).ceil().max(low + 1.0), from, to }
    }

    /// Where a value lies.
    pub(super) fn place(&self, value: f64) -> f64 {
        let part = (value.max(f64::MIN_POSITIVE).log10() - self.low) / (self.high - self.low);
        self.from + part.clamp(0.0, 1.0) * (self.to - self.from)
    }

    /// The powers of ten, each with its text.
    pub(super) fn ticks(&self) -> impl Iterator<Item = (f64, String)> {
        (self.low as i32..=self.high as i32).map(|power| {
            let value = 10_f64.powi(power);
            (value, figure(value))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Axis;

    #[test]
    fn values_lie_between_the_powers_of_ten_around_them() {
        let axis = Axis::over([20.0, 700.0].into_iter(), 0.0, 200.0);
        assert!((axis.place(10.0) - 0.0).abs() < 1e-9);
        assert!((axis.place(100.0) - 100.0).abs() < 1e-9);
        assert!((axis.place(1000.0) - 200.0).abs() < 1e-9);
        assert_eq!(axis.ticks().count(), 3);
    }
}
