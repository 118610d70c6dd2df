import Foundation

// What libFuzzer calls. Compiled together with the sources of StrataCore by `Tests/Fuzz/run`; the package does not build it.

/// The decoder that `STRATA_FUZZ_DECODER` names.
private let probe: DecoderProbe = {
  let name = ProcessInfo.processInfo.environment["STRATA_FUZZ_DECODER"] ?? ""
  guard let probe = DecoderProbe(rawValue: name) else {
    let names = DecoderProbe.allCases.map(\.rawValue).joined(separator: ", ")
    FileHandle.standardError.write(Data("fuzz: “\(name)” is none of: \(names).\n".utf8))
    exit(1)
  }
  return probe
}()

/// Puts the decoder's valid inputs into the corpus folder that `STRATA_FUZZ_CORPUS` names.
@_cdecl("LLVMFuzzerInitialize")
public func prepareFuzzing(
  _ count: UnsafeMutablePointer<CInt>?, _ arguments: UnsafeMutableRawPointer?
) -> CInt {
  guard let folder = ProcessInfo.processInfo.environment["STRATA_FUZZ_CORPUS"] else { return 0 }
  for (number, sample) in probe.samples().enumerated() {
    let url = URL(fileURLWithPath: folder).appendingPathComponent("sample-\(number)")
    do {
      try Data(sample).write(to: url)
    } catch {
      FileHandle.standardError.write(Data("fuzz: \(url.path) cannot be written: \(error)\n".utf8))
      exit(1)
    }
  }
  return 0
}

/// One input.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOneInput(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
  _ = probe.run(UnsafeRawBufferPointer(start: start, count: count))
  return 0
}
