import Foundation

/// How texts are brought into a form in which they can be compared by bytes: `[c]`, `[d]`, `[cd]` or as they are.
///
/// A value that costs nothing to copy. Texts come as UTF-8, wherever they lie; those of ASCII letters take a short way.
struct TextFolding: Sendable, Hashable {
  /// The options that change texts: `[n]` is not among them, since texts are compared as they are without options too.
  let options: FetchComparison.StringOptions

  init(_ options: FetchComparison.StringOptions = []) {
    self.options = options.intersection([.caseInsensitive, .diacriticInsensitive])
  }

  /// Whether texts stay as they are.
  var isIdentity: Bool { options.isEmpty }

  /// Calls `body` with the folded form of `text`, valid inside the call.
  @inline(__always)
  func withFolded<R>(_ text: UnsafeRawBufferPointer, _ body: (UnsafeRawBufferPointer) -> R) -> R {
    if isIdentity { return body(text) }
    let room = text.count * FoldedScalars.mostGrowth
    return withUnsafeTemporaryAllocation(byteCount: room, alignment: 1) { target in
      let count = fold(text, into: target)
      return body(UnsafeRawBufferPointer(target).prefix(count).rebased)
    }
  }

  /// The folded form of `text`.
  func folded(_ text: String) -> [UInt8] {
    var text = text
    return text.withUTF8 { withFolded(UnsafeRawBufferPointer($0)) { Array($0) } }
  }

  /// Orders two texts by the bytes of their folded forms: negative when `left` comes first, 0 when they are the same.
  func compare(_ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer) -> Int {
    withFolded(left) { left in withFolded(right) { AttributeValue.orderBytes(left, $0) } }
  }

  /// Orders two texts by the bytes of their folded forms.
  func compare(_ left: String, _ right: String) -> Int {
    var left = left
    var right = right
    return left.withUTF8 { left in
      right.withUTF8 { compare(UnsafeRawBufferPointer(left), UnsafeRawBufferPointer($0)) }
    }
  }

  /// Folds `text` into `target`, which has room for three times its bytes, and returns the folded form's length.
  private func fold(_ text: UnsafeRawBufferPointer, into target: UnsafeMutableRawBufferPointer) -> Int {
    let isCaseFolded = options.contains(.caseInsensitive)
    var seen: UInt8 = 0
    for place in 0..<text.count {
      let byte = text[place]
      seen |= byte
      target[place] = isCaseFolded ? Self.lower(byte) : byte
    }
    return seen < 0x80 ? text.count : foldScalars(text, into: target)
  }

  @inline(never)
  private func foldScalars(_ text: UnsafeRawBufferPointer, into target: UnsafeMutableRawBufferPointer) -> Int
  {
    let forms = FoldedScalars.forms(options)
    var count = 0
    var scalars = UTF8Scalars(text)
    while let scalar = scalars.next() {
      count += forms.write(scalar, to: UnsafeMutableRawBufferPointer(rebasing: target[count...]))
    }
    return count
  }

  /// An ASCII capital as the small letter, any other byte as it is.
  @inline(__always)
  static func lower(_ byte: UInt8) -> UInt8 {
    byte &- 0x41 < 26 ? byte | 0x20 : byte
  }
}

extension Slice<UnsafeRawBufferPointer> {
  fileprivate var rebased: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: self) }
}

/// The scalars of UTF-8 bytes. Bytes that are no UTF-8 count as one U+FFFD each; they never come from a `String`.
struct UTF8Scalars {
  private let text: UnsafeRawBufferPointer
  private(set) var place = 0

  init(_ text: UnsafeRawBufferPointer) { self.text = text }

  mutating func next() -> Unicode.Scalar? {
    guard place < text.count else { return nil }
    let first = text[place]
    let length =
      first < 0x80 ? 1 : first < 0xC2 ? 0 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : first < 0xF5 ? 4 : 0
    if length > 0, place + length <= text.count {
      var value = length == 1 ? UInt32(first) : UInt32(first) & (0x7F >> UInt32(length))
      var isValid = true
      for next in text[(place + 1)..<(place + length)] {
        isValid = isValid && next & 0xC0 == 0x80
        value = value << 6 | UInt32(next & 0x3F)
      }
      let isShortest = length < 3 || value >= (length == 3 ? 0x800 : 0x10000)
      if isValid, isShortest, let scalar = Unicode.Scalar(value) {
        place += length
        return scalar
      }
    }
    place += 1
    return "\u{FFFD}"
  }
}
