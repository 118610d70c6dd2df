import Foundation
import Strata
import Testing
import TortureKit

@testable import StrataCommand

/// Texts of values, readers of JSON and CSV.
@Suite struct TextTests {
  @Test func datesReadBackExactly() {
    let seed = UInt64.random(in: 1...1 << 40)
    var random = SeededGenerator(seed: seed)
    for _ in 0..<3_000 {
      let seconds =
        random.chance(20)
        ? Double(bitPattern: random.next())
        : (Double(random.below(20_000_000_000)) - 1e10) / Double(1 + random.below(1_000))
      if seconds.isNaN { continue }
      let date = Date(timeIntervalSinceReferenceDate: seconds)
      let text = ValueText.date(date)
      #expect(
        ValueText.date(text)?.timeIntervalSinceReferenceDate.bitPattern == seconds.bitPattern,
        "seed \(seed): \(seconds) is \(text)")
    }
    #expect(ValueText.date(Date(timeIntervalSinceReferenceDate: 0)) == "2001-01-01T00:00:00Z")
    #expect(ValueText.date(Date(timeIntervalSinceReferenceDate: -1.5)) == "2000-12-31T23:59:58.5Z")
    #expect(ValueText.date(Date(timeIntervalSinceReferenceDate: 730_857_600)) == "2024-02-29T00:00:00Z")
    #expect(ValueText.date("2024-02-29") != nil && ValueText.date("2023-02-29") == nil)
    #expect(ValueText.date("2024-02-29T12:00:00+02:00") == ValueText.date("2024-02-29T10:00:00Z"))
    for wrong in [
      "", "2024", "2024-13-01", "2024-01-01T25:00:00Z", "2024-01-01T00:00:00", "2024-01-01T00:00:00Zx", "@x",
    ] {
      #expect(ValueText.date(wrong) == nil, "\(wrong)")
    }
  }

  @Test func datesThatAreNoNumbersReadBack() {
    let odd = Double(bitPattern: Double.nan.bitPattern | 5)
    for (seconds, text) in [
      (Double.infinity, "@Infinity"), (-Double.infinity, "@-Infinity"), (Double.nan, "@NaN"),
      (odd, "@NaN:7ff8000000000005"),
    ] {
      #expect(ValueText.date(Date(timeIntervalSinceReferenceDate: seconds)) == text)
      #expect(
        ValueText.date(text)?.timeIntervalSinceReferenceDate.bitPattern == seconds.bitPattern, "\(text)")
    }
    // As earlier versions have written them.
    #expect(ValueText.date("@inf")?.timeIntervalSinceReferenceDate == .infinity)
    #expect(ValueText.date("@-inf")?.timeIntervalSinceReferenceDate == -.infinity)
    #expect(ValueText.date("@nan")?.timeIntervalSinceReferenceDate.isNaN == true)
    #expect(ValueText.value("@Infinity", .date) != nil)
  }

  @Test func quotesWithAccentsAreDoubled() {
    #expect(CSV.quoted("a\"\u{301},b") == "\"a\"\"\u{301},b\"")
    #expect(CSV.quoted("\"") == "\"\"\"\"" && CSV.quoted("é") == "é")
    #expect(Words.quoted("it'\u{308}s") == "'it'\\''\u{308}s'")
  }

  @Test func wrongJSONIsRefusedAndTextsReadBack() throws {
    func string(_ text: String) throws -> String {
      try Array(text.utf8).withUnsafeBytes {
        var reader = JSONReader($0)
        let value = try reader.string()
        try reader.expectEnd()
        return value
      }
    }
    for text in Everything.texts + ["\u{10FFFF}", "\u{7F}"] {
      var writer = JSONWriter()
      writer.string(text)
      let written = String(decoding: writer.bytes, as: UTF8.self)
      #expect(try Array(string(written).utf8) == Array(text.utf8))
      #expect(
        try JSONSerialization.jsonObject(with: Data(writer.bytes), options: .fragmentsAllowed) as? String
          == text)
    }
    #expect(try string(#""\u00e9\ud83d\ude00\/""#) == "é😀/")
    for wrong in [
      #""a"#, #""\x""#, #""\u12""#, #""\ud800x""#, #""\udc00""#, "\"\u{1}\"", #""a"b"#, #""\u+123""#,
    ] {
      #expect(throws: JSONReader.Fault.self) { try string(wrong) }
    }
    for wrong in ["01", "-", "1.", "1e", ".5", "+1", "NaN"] {
      #expect(throws: JSONReader.Fault.self) {
        try Array(wrong.utf8).withUnsafeBytes {
          var reader = JSONReader($0)
          _ = try reader.number()
          try reader.expectEnd()
        }
      }
    }
    for (text, number) in [
      ("0", 0), ("-9223372036854775808", Int64.min), ("9223372036854775807", .max),
      ("1234567890123456789", 1_234_567_890_123_456_789),
    ] {
      let read = try Array(text.utf8).withUnsafeBytes {
        var reader = JSONReader($0)
        return try reader.integer()
      }
      #expect(read == number)
    }
    #expect(throws: JSONReader.Fault.self) {
      try Array("9223372036854775808".utf8).withUnsafeBytes {
        var reader = JSONReader($0)
        _ = try reader.integer()
      }
    }
  }

  @Test func theBarSaysHowFarItIs() {
    let bar = ProgressLine.bar(500, of: 1_000, "objects", after: .seconds(1))
    #expect(bar.contains("50 %") && bar.contains("500 of 1,000 objects") && bar.contains("500 a second"))
    #expect(ProgressLine.bar(1_234, of: 0, "bytes", after: .zero) == "1,234 bytes")
  }
}
