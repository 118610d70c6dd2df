import Foundation
import Testing

@testable import StrataCore

/// How texts become comparable (rule 108, the options of Docs/Queries.md).
@Suite struct TextFoldingTests {
  static let caseless = TextFolding(.caseInsensitive)
  static let markless = TextFolding(.diacriticInsensitive)
  static let both = TextFolding([.caseInsensitive, .diacriticInsensitive])

  static func text(_ folding: TextFolding, _ text: String) -> String {
    String(decoding: folding.folded(text), as: UTF8.self)
  }

  @Test(
    "full case folding, of no locale",
    arguments: [
      ("Straße", "strasse"), ("STRASSE", "strasse"), ("ẞ", "ss"), ("ΣΊΣΥΦΟΣ", "σίσυφοσ"),
      ("Σίσυφος", "σίσυφοσ"),
      ("İ", "i\u{307}"), ("I", "i"), ("ı", "ı"), ("ﬁx", "fix"), ("Å", "å"), ("\u{212B}", "å"), ("K", "k"),
      ("ǅ", "ǆ"),
      ("ǰ", "j\u{30C}"), ("ΐ", "ι\u{308}\u{301}"), ("ꭰ", "Ꭰ"), ("Ꭰ", "Ꭰ"), ("ᾳ", "αι"), ("ſ", "s"),
      ("각", "각"), ("👍🏽", "👍🏽"), ("", ""),
    ])
  func foldsCase(sample: (String, String)) {
    #expect(Array(Self.text(Self.caseless, sample.0).utf8) == Array(sample.1.utf8), "\(sample)")
  }

  @Test(
    "canonical decomposition without nonspacing marks",
    arguments: [
      ("é", "e"), ("e\u{301}", "e"), ("\u{301}e", "e"), ("Å", "A"), ("\u{212B}", "A"), ("A\u{30A}", "A"),
      ("İ", "I"), ("ı", "ı"),
      ("ø", "ø"), ("ß", "ß"), ("ﬁ", "ﬁ"), ("각", "\u{1100}\u{1161}\u{11A8}"), ("が", "か"), ("ᾳ", "α"),
      ("ṩ", "s"), ("❤\u{FE0F}", "❤"),
      ("👍🏽", "👍🏽"), ("\u{301}\u{302}", ""), ("", ""),
    ])
  func dropsMarks(sample: (String, String)) {
    #expect(Array(Self.text(Self.markless, sample.0).utf8) == Array(sample.1.utf8), "\(sample)")
  }

  @Test func bothOptionsTakeBothAway() {
    for text in ["É", "e\u{301}", "E\u{301}", "é"] { #expect(Self.text(Self.both, text) == "e") }
    #expect(Self.text(Self.both, "İstanbul") == "istanbul")
    #expect(Self.text(Self.both, "ΆΈ") == "αε")
  }

  /// For every scalar: folding is stable, grows at most threefold, and is the same from the table as by definition.
  @Test func everyScalarKeepsTheRules() throws {
    let options: [FetchComparison.StringOptions] = [
      .caseInsensitive, .diacriticInsensitive, [.caseInsensitive, .diacriticInsensitive],
    ]
    // Latin, Greek, Cyrillic and their extensions in full; of the rest every 397th, in the long mode every 37th.
    let step = UInt32.Stride(rounds(397, long: 37))
    let values = Array(UInt32(0)..<0x2200) + stride(from: UInt32(0x2200), to: 0x110000, by: step)
    for value in values {
      guard let scalar = Unicode.Scalar(value) else { continue }
      for options in options {
        let form = FoldedScalars.form(scalar, options)
        let folding = TextFolding(options)
        guard form.count <= FoldedScalars.mostGrowth * UTF8.width(scalar),
          folding.folded(String(scalar)) == form,
          folding.folded(String(decoding: form, as: UTF8.self)) == form
        else {
          Issue.record("U+\(String(value, radix: 16)) with \(options): \(form)")
          return
        }
      }
    }
  }

  @Test func withoutOptionsTextsAreTheirBytes() {
    let plain = TextFolding(.normalized)
    #expect(plain.isIdentity)
    #expect(plain.compare("é", "e\u{301}") != 0)
    #expect(Self.markless.compare("é", "e\u{301}") == 0)
    #expect(Self.caseless.compare("É", "é") == 0)
    #expect(Self.caseless.compare("a", "B") < 0 && plain.compare("a", "B") > 0)
  }
}
