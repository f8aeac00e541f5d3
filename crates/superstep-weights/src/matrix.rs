//! Matrices of weights, kept as blocks of 32 bytes with a scale each (Q8_0), and vectors multiplied with them.
//!
//! Every kind of numbers that a file may have becomes this one kind when it is loaded: there is one way to multiply, candle has a
//! fast kernel for it (for Q4_1 it has none: as it is in the file, it takes four times as long), and to convert costs seconds
//! once. Never uses candle's own multiplication, which spreads over a pool of threads of the whole process that spin while
//! they wait: on cores that others use too, two of them are many times slower than one.

use std::fs::File;
use std::io::BufReader;

use candle_core::Device;
use candle_core::quantized::gguf_file::Content;
use candle_core::quantized::k_quants::{BlockQ8_0, GgmlType};

/// How many numbers a block has.
const BLOCK: usize = 32;

/// A file of weights: what its head says, and its bytes.
pub(crate) struct Source {
    pub(crate) content: Content,
    pub(crate) file: BufReader<File>,
}

impl Source {
    /// The numbers of a tensor, which must have these dimensions.
    pub(crate) fn numbers(&mut self, name: &str, dimensions: &[usize]) -> Result<Vec<f32>, String> {
        let known = self.content.tensor_infos.get(name).ok_or_else(|| format!("the tensor `{name}` is missing"))?;
        if known.shape.dims() != dimensions {
            return Err(format!("the tensor `{name}` is {:?} and should be {dimensions:?}", known.shape.dims()));
        }
        let tensor = self.content.tensor(&mut self.file, name, &Device::Cpu);
        let numbers = tensor.and_then(|tensor| tensor.dequantize(&Device::Cpu)?.flatten_all()?.to_vec1());
        numbers.map_err(|error| format!("the tensor `{name}`: {error}"))
    }

    /// A matrix, by its rows and columns.
    pub(crate) fn matrix(&mut self, name: &str, rows: usize, columns: usize) -> Result<Matrix, String> {
        let numbers = self.numbers(name, &[rows, columns])?;
        Ok(Matrix { rows, columns, blocks: blocks(&numbers) })
    }

    /// Whether there is such a tensor.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.content.tensor_infos.contains_key(name)
    }
}

/// A matrix of weights.
pub(crate) struct Matrix {
    rows: usize,
    columns: usize,
    blocks: Vec<BlockQ8_0>,
}

impl Matrix {
    /// How many rows it has.
    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    /// Writes one of its rows as numbers.
    pub(crate) fn write_row(&self, row: usize, to: &mut [f32]) {
        let length = self.columns / BLOCK;
        BlockQ8_0::to_float(&self.blocks[row * length..(row + 1) * length], to);
    }

    /// Multiplies every vector with the matrix: one result after the other.
    pub(crate) fn multiply(&self, vectors: &Vectors) -> Vec<f32> {
        let length = self.columns / BLOCK;
        let count = vectors.0.len() / length;
        let mut results = vec![0.0; count * self.rows];
        // Rows outside: a row stays close to the processor for all vectors.
        for (row, weights) in self.blocks.chunks_exact(length).enumerate() {
            for (number, vector) in vectors.0.chunks_exact(length).enumerate() {
                results[number * self.rows + row] = BlockQ8_0::vec_dot(self.columns, weights, vector);
            }
        }
        results
    }
}

/// Vectors of one length, one after the other, in the form that a matrix multiplies.
pub(crate) struct Vectors(Vec<BlockQ8_0>);

impl Vectors {
    /// Takes vectors of plain numbers.
    pub(crate) fn new(numbers: &[f32]) -> Self {
        Self(blocks(numbers))
    }
}

fn blocks(numbers: &[f32]) -> Vec<BlockQ8_0> {
    let mut blocks = vec![BlockQ8_0::zeros(); numbers.len() / BLOCK];
    BlockQ8_0::from_float(numbers, &mut blocks);
    blocks
}
