//! A container header of any bytes.
#![no_main]

use iostore::ContainerHeader;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    if let Ok(header) = ContainerHeader::read(data) {
        assert_eq!(ContainerHeader::read(&header.write()), Ok(header));
    }
});
