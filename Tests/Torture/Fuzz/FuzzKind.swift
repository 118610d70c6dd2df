import Foundation
@_spi(Testing) import StrataCore
import TortureKit

/// Which decoder is fed.
protocol FuzzedDecoder: SendableMetatype {
  static var probe: DecoderProbe { get }
}

enum RowDecoding: FuzzedDecoder { static let probe = DecoderProbe.row }
enum KeyDecoding: FuzzedDecoder { static let probe = DecoderProbe.key }
enum URIDecoding: FuzzedDecoder { static let probe = DecoderProbe.uri }
enum ModelDecoding: FuzzedDecoder { static let probe = DecoderProbe.model }
enum MetadataDecoding: FuzzedDecoder { static let probe = DecoderProbe.metadata }
enum PredicateDecoding: FuzzedDecoder { static let probe = DecoderProbe.predicate }
enum FormatDecoding: FuzzedDecoder { static let probe = DecoderProbe.format }
enum XcodeDecoding: FuzzedDecoder { static let probe = DecoderProbe.xcode }
enum HistoryDecoding: FuzzedDecoder { static let probe = DecoderProbe.history }
enum LogDecoding: FuzzedDecoder { static let probe = DecoderProbe.log }

/// Valid inputs of a decoder, mutated repeatedly. A trap or a hang ends the process, which counts.
struct FuzzKind<Decoder: FuzzedDecoder>: TortureKind {
  static var name: String { "fuzz-\(Decoder.probe.rawValue)" }
  static var cases: String { "inputs" }

  private var mutator: ByteMutator
  private(set) var details: [String: Int] = [:]

  init(seed: UInt64) throws {
    mutator = ByteMutator(seed: seed, samples: Decoder.probe.samples())
  }

  mutating func round() throws -> Int {
    defer { HangGuard.disarm() }
    HangGuard.arm(seconds: 120)
    for sample in mutator.samples where Decoder.probe != .predicate && Decoder.probe != .format {
      guard sample.withUnsafeBytes({ Decoder.probe.run($0) }) else {
        throw TortureViolation("a valid input was refused: \(sample)")
      }
    }
    let count = 1_000
    var accepted = 0
    for number in 0..<count {
      if number % 500 == 0 { HangGuard.arm(seconds: 120) }
      let input = mutator.next()
      if input.withUnsafeBytes({ Decoder.probe.run($0) }) {
        accepted += 1
        mutator.keep(input)
      }
    }
    details["accepted"] = accepted
    return count
  }
}
