//! Writing of tables of contents: the mirror of `toc_read`, field by field.

use wire::Writer;

use crate::directory::DirectoryIndex;
use crate::toc::Toc;
use crate::toc_read::{BLOCK_ENTRY_SIZE, HEADER_SIZE, MAGIC, METHOD_NAME_SIZE, VERSION};

impl Toc {
    /// The `.utoc` that says this. What was read comes out as it was.
    pub fn write(&self) -> Vec<u8> {
        // Counts fit: they were read as 32 bits, or the builder has checked them.
        let count = |length: usize| u32::try_from(length).expect("because tables have 32-bit counts");
        let directory = self.directory.as_ref().map(|directory: &DirectoryIndex| {
            let mut w = Writer::new();
            directory.write(&mut w);
            w.into_bytes()
        });
        let directory = directory.unwrap_or_default();

        let mut w = Writer::with_capacity(
            144 + 46 * self.chunks.len()
                + 4 * (self.seeds.len() + self.overflow.len())
                + 12 * self.blocks.len()
                + 32 * self.methods.len()
                + directory.len(),
        );
        w.bytes(MAGIC).u8(VERSION).zeros(3).u32(HEADER_SIZE);
        w.u32(count(self.chunks.len())).u32(count(self.blocks.len())).u32(BLOCK_ENTRY_SIZE);
        w.u32(count(self.methods.len())).u32(METHOD_NAME_SIZE);
        w.u32(self.block_size).u32(count(directory.len()));
        w.u32(self.partition_count).u64(self.container.0);
        // No encryption key.
        w.zeros(16).u8(self.flags).zeros(3);
        w.u32(count(self.seeds.len())).u64(self.partition_size);
        w.u32(count(self.overflow.len())).zeros(44);

        for chunk in &self.chunks {
            w.bytes(chunk.id.as_bytes());
        }
        for chunk in &self.chunks {
            w.u40_be(chunk.offset).u40_be(chunk.length);
        }
        for seed in &self.seeds {
            w.i32(*seed);
        }
        for chunk in &self.overflow {
            w.u32(*chunk);
        }
        for block in &self.blocks {
            w.u40(block.offset).u24(block.compressed_size);
            w.u24(block.uncompressed_size).u8(block.method);
        }
        for method in &self.methods {
            let mut name = method.clone().into_bytes();
            name.resize(METHOD_NAME_SIZE as usize, 0);
            w.bytes(&name);
        }
        w.bytes(&directory);
        for chunk in &self.chunks {
            w.bytes(chunk.hash.as_bytes()).u8(chunk.flags).zeros(3);
        }
        w.into_bytes()
    }
}
