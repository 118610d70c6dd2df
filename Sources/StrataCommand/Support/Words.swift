import Foundation
import StrataCore

/// Small pieces of text.
enum Words {
  /// `1,234,567`.
  static func grouped(_ number: Int) -> String {
    var digits = Array(String(number.magnitude))
    var place = digits.count - 3
    while place > 0 {
      digits.insert(",", at: place)
      place -= 3
    }
    return (number < 0 ? "-" : "") + String(digits)
  }

  /// `1.5 MB`, in powers of 1,000.
  static func bytes(_ count: Int) -> String {
    if count < 1_000 { return "\(count) B" }
    var value = Double(count)
    var unit = "B"
    for next in ["kB", "MB", "GB", "TB"] where value >= 1_000 {
      value /= 1_000
      unit = next
    }
    return "\((value * 10).rounded() / 10) \(unit)"
  }

  /// `1 row`, `2 rows`.
  static func counted(_ count: Int, _ noun: String) -> String {
    "\(grouped(count)) \(noun)\(count == 1 ? "" : "s")"
  }

  /// A word as a shell would have to be given it.
  static func quoted(_ word: String) -> String {
    let plain = word.unicodeScalars.allSatisfy {
      $0.isASCII
        && ($0.properties.isAlphabetic || $0.properties.numericType != nil
          || "/._-+=:@%,".unicodeScalars.contains($0))
    }
    return plain && !word.isEmpty ? word : "'" + word.replacing(mark: "'", with: "'\\''") + "'"
  }

  /// The one of `names` that was probably meant.
  static func nearest(_ word: String, among names: some Sequence<String>) -> String? {
    SimilarNames.nearest(word, among: names)
  }
}
