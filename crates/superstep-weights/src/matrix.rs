//! Weight matrices, stored as blocks of 32 8-bit numbers with a scale (Q8_0), and their multiplication with
//! vectors.
//!
//! Every number format of a file is converted to Q8_0 when it is loaded: there is one multiplication routine,
//! candle has a fast kernel for it (Q4_1 has none, and takes four times as long unconverted), and the conversion
//! costs seconds once. Never uses candle's own multiplication, which spreads over a process-wide thread pool whose
//! threads spin while they wait: on cores shared with other work, two threads are many times slower than one.

use std::fs::File;
use std::io::BufReader;

use candle_core::Device;
use candle_core::quantized::gguf_file::Content;
use candle_core::quantized::k_quants::{BlockQ8_0, GgmlType};

/// Number of elements per block.
const BLOCK_ELEMENTS: usize = 32;

/// A weights file: its parsed header, and its bytes.
pub(crate) struct WeightsFile {
    pub(crate) content: Content,
    pub(crate) file: BufReader<File>,
}

impl WeightsFile {
    /// Reads the numbers of a tensor, which must have these dimensions.
    pub(crate) fn numbers(&mut self, name: &str, dimensions: &[usize]) -> Result<Vec<f32>, String> {
        let info = self.content.tensor_infos.get(name).ok_or_else(|| format!("tensor `{name}` is missing"))?;
        if info.shape.dims() != dimensions {
            return Err(format!("tensor `{name}` has the shape {:?}, expected {dimensions:?}", info.shape.dims()));
        }
        let tensor = self.content.tensor(&mut self.file, name, &Device::Cpu);
        let numbers = tensor.and_then(|tensor| tensor.dequantize(&Device::Cpu)?.flatten_all()?.to_vec1());
        numbers.map_err(|error| format!("tensor `{name}`: {error}"))
    }

    /// Reads a matrix by its rows and columns.
    pub(crate) fn matrix(&mut self, name: &str, rows: usize, columns: usize) -> Result<Matrix, String> {
        let numbers = self.numbers(name, &[rows, columns])?;
        Ok(Matrix { rows, columns, blocks: blocks(&numbers) })
    }

    /// Returns true if the tensor exists.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.content.tensor_infos.contains_key(name)
    }
}

/// A weight matrix.
pub(crate) struct Matrix {
    rows: usize,
    columns: usize,
    blocks: Vec<BlockQ8_0>,
}

impl Matrix {
    /// Returns the number of rows.
    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    /// Writes one row as floating-point numbers.
    pub(crate) fn write_row(&self, row: usize, to: &mut [f32]) {
        let length = self.columns / BLOCK_ELEMENTS;
        BlockQ8_0::to_float(&self.blocks[row * length..(row + 1) * length], to);
    }

    /// Multiplies every vector with the matrix; the results follow each other.
    pub(crate) fn multiply(&self, vectors: &Vectors) -> Vec<f32> {
        let length = self.columns / BLOCK_ELEMENTS;
        let count = vectors.0.len() / length;
        let mut results = vec![0.0; count * self.rows];
        // Rows in the outer loop: a row stays in the CPU cache for all vectors.
        for (row, weights) in self.blocks.chunks_exact(length).enumerate() {
            for (number, vector) in vectors.0.chunks_exact(length).enumerate() {
                results[number * self.rows + row] = BlockQ8_0::vec_dot(self.columns, weights, vector);
            }
        }
        results
    }
}

/// Consecutive vectors of one length, quantized for multiplication.
pub(crate) struct Vectors(Vec<BlockQ8_0>);

impl Vectors {
    /// Quantizes vectors of floating-point numbers.
    pub(crate) fn new(numbers: &[f32]) -> Self {
        Self(blocks(numbers))
    }
}

fn blocks(numbers: &[f32]) -> Vec<BlockQ8_0> {
    let mut blocks = vec![BlockQ8_0::zeros(); numbers.len() / BLOCK_ELEMENTS];
    BlockQ8_0::from_float(numbers, &mut blocks);
    blocks
}
