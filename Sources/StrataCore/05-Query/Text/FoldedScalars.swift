import Foundation

/// What happens to single Unicode scalars when texts are compared regardless of case or of marks.
///
/// Folding looks at one scalar at a time, never at its neighbours or at a locale: the folded form of a text is the folded forms
/// of its scalars, one after the other. The folded form of a scalar is at most three times as long in UTF-8.
///
/// - Case: Unicode's full case folding (statuses C and F), made of the full mappings to capital and small letters, which the
///   standard library has on every platform. ASCII letters become small ones.
/// - Marks: the scalar's canonical decomposition without its nonspacing marks (general category Mn).
/// - Both: marks go first, then case; then marks again, since folding can make one (`İ`).
struct FoldedScalars: Sendable {
  typealias Options = FetchComparison.StringOptions

  /// The longest folded form in this many bytes, counted for one byte of the scalar's own.
  static let mostGrowth = 3

  /// The forms of the scalars in `tabulated`, eight bytes each: the length, then the bytes.
  private let table: [UInt8]
  private let options: Options

  /// The table for `options`, made once per process.
  static func forms(_ options: Options) -> FoldedScalars {
    switch (options.contains(.caseInsensitive), options.contains(.diacriticInsensitive)) {
    case (true, true): withoutBoth
    case (true, false): withoutCase
    case (false, true): withoutMarks
    case (false, false): unchanged
    }
  }

  private static let unchanged = FoldedScalars([])
  private static let withoutCase = FoldedScalars(.caseInsensitive)
  private static let withoutMarks = FoldedScalars(.diacriticInsensitive)
  private static let withoutBoth = FoldedScalars([.caseInsensitive, .diacriticInsensitive])

  /// Scripts with case or composed letters: Latin, Greek, Cyrillic, Armenian; then what Unicode added to Latin and Greek.
  private static let tabulated = [0..<0x600, 0x1E00..<0x2000]
  private static let stride = 8

  private init(_ options: Options) {
    self.options = options
    var table: [UInt8] = []
    for range in Self.tabulated {
      for value in range {
        // No surrogate lies in the tabulated ranges.
        let form = Self.form(Unicode.Scalar(UInt32(value))!, options)
        precondition(form.count < Self.stride, "folded forms of tabulated scalars have at most seven bytes")
        table.append(UInt8(form.count))
        table += form
        table += [UInt8](repeating: 0, count: Self.stride - 1 - form.count)
      }
    }
    self.table = table
  }

  /// Writes the folded form of a scalar to `target` and returns its length. `target` must have room for three times
  /// the scalar's own length.
  @inline(__always)
  func write(_ scalar: Unicode.Scalar, to target: UnsafeMutableRawBufferPointer) -> Int {
    let value = Int(scalar.value)
    let row: Int
    if value < 0x600 {
      row = value
    } else if value >= 0x1E00 && value < 0x2000 {
      row = value - 0x1E00 + 0x600
    } else {
      return writeOther(scalar, to: target)
    }
    let start = row * Self.stride
    let length = Int(table[start])
    for place in 0..<length { target[place] = table[start + 1 + place] }
    return length
  }

  @inline(never)
  private func writeOther(_ scalar: Unicode.Scalar, to target: UnsafeMutableRawBufferPointer) -> Int {
    var length = 0
    func put(_ bytes: some Sequence<UInt8>) {
      for byte in bytes {
        target[length] = byte
        length += 1
      }
    }
    if Self.isUnchanged(scalar) {
      put(UTF8.encode(scalar).unsafelyUnwrapped)
    } else {
      put(Self.form(scalar, options))
    }
    return length
  }

  /// Scalars that no option changes, in large ranges: ideographs and pictures.
  private static func isUnchanged(_ scalar: Unicode.Scalar) -> Bool {
    (0x3400..<0xA000).contains(scalar.value) || (0x1F000..<0x1FC00).contains(scalar.value)
      || (0x20000..<0x2F800).contains(scalar.value)
  }

  /// The folded form of any scalar, in UTF-8.
  static func form(_ scalar: Unicode.Scalar, _ options: Options) -> [UInt8] {
    var scalars = [scalar]
    if options.contains(.diacriticInsensitive) {
      scalars = String(scalar).decomposedStringWithCanonicalMapping.unicodeScalars.filter { !isMark($0) }
    }
    if options.contains(.caseInsensitive) {
      scalars = scalars.flatMap { Array(withoutCase($0).unicodeScalars) }
      if options.contains(.diacriticInsensitive) { scalars.removeAll(where: isMark) }
    }
    return scalars.flatMap { Array(String($0).utf8) }
  }

  private static func isMark(_ scalar: Unicode.Scalar) -> Bool {
    scalar.properties.generalCategory == .nonspacingMark
  }

  /// Unicode's full case folding of one scalar.
  private static func withoutCase(_ scalar: Unicode.Scalar) -> String {
    func map(_ text: String, _ mapping: (Unicode.Scalar.Properties) -> String) -> String {
      text.unicodeScalars.reduce(into: "") { $0 += mapping($1.properties) }
    }
    let properties = scalar.properties
    let folded = map(map(properties.lowercaseMapping, \.uppercaseMapping), \.lowercaseMapping)
    // Unicode's property is that of the decomposed scalar. What decomposes may change all the same: ǰ becomes two scalars,
    // U+1FBE another one. The dotless ı, which folds to itself, is neither.
    guard
      properties.changesWhenCaseFolded || properties.changesWhenNFKCCaseFolded
        || folded.unicodeScalars.count > 1
    else { return String(scalar) }
    // Cherokee is the one script whose small letters fold to the capital ones.
    return properties.changesWhenCaseFolded && folded == String(scalar) ? properties.uppercaseMapping : folded
  }
}
