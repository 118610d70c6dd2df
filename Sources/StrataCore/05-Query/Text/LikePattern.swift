import Foundation

/// A pattern of `LIKE`: `*` stands for any characters or none, `?` for exactly one, a backslash makes the next of these (or
/// any other) a plain character; at the end it is one itself.
///
/// A character is what a reader takes for one (an extended grapheme cluster): `é` in either spelling, a flag, a family. Costs
/// at most the length of the text times that of the pattern.
struct LikePattern: Sendable {
  private enum Piece: Sendable, Hashable {
    /// Folded bytes.
    case literal([UInt8])
    case anyCharacter
  }

  /// What stands between the asterisks. The first begins where the text does, the last ends where it ends.
  private let segments: [[Piece]]
  private let usesCharacters: Bool
  private let folding: TextFolding

  init(_ pattern: String, _ folding: TextFolding) {
    self.folding = folding
    var segments: [[Piece]] = [[]]
    var literal = ""
    var isEscaped = false
    func close() {
      if !literal.isEmpty { segments[segments.count - 1].append(.literal(folding.folded(literal))) }
      literal = ""
    }
    for scalar in pattern.unicodeScalars {
      switch scalar {
      case "\\" where !isEscaped:
        isEscaped = true
        continue
      case "*" where !isEscaped:
        close()
        segments.append([])
      case "?" where !isEscaped:
        close()
        segments[segments.count - 1].append(.anyCharacter)
      default: literal.unicodeScalars.append(scalar)
      }
      isEscaped = false
    }
    if isEscaped { literal += "\\" }
    close()
    usesCharacters = segments.contains { $0.contains(.anyCharacter) }
    // Between the first and the last, nothing between two asterisks is no more than one asterisk.
    let inner = segments.dropFirst().dropLast().filter { !$0.isEmpty }
    self.segments = segments.count < 2 ? segments : [segments[0]] + inner + [segments[segments.count - 1]]
  }

  /// Whether the whole of `text`, as it is stored, fits.
  func matches(_ text: UnsafeRawBufferPointer) -> Bool {
    if usesCharacters, !Self.isPlain(text) {
      let (folded, borders) = characters(text)
      return folded.withUnsafeBytes { matches(Subject(bytes: $0, borders: borders)) }
    }
    return folding.withFolded(text) { matches(Subject(bytes: $0, borders: nil)) }
  }

  /// Whether each byte is a character.
  private static func isPlain(_ text: UnsafeRawBufferPointer) -> Bool {
    // A carriage return and a line feed are one character together.
    text.allSatisfy { $0 < 0x80 && $0 != 0x0D }
  }

  /// The folded text, and for each of its places whether a character begins there.
  private func characters(_ text: UnsafeRawBufferPointer) -> ([UInt8], [Bool]) {
    var folded: [UInt8] = []
    var borders: [Bool] = []
    for character in String(decoding: text, as: UTF8.self) {
      let form = folding.folded(String(character))
      folded += form
      for place in form.indices { borders.append(place == 0) }
    }
    borders.append(true)
    return (folded, borders)
  }

  private func matches(_ subject: Subject) -> Bool {
    guard var place = subject.end(of: segments[0], from: 0) else { return false }
    if segments.count == 1 { return place == subject.bytes.count }
    for segment in segments.dropFirst().dropLast() {
      guard let end = subject.firstEnd(of: segment, from: place) else { return false }
      place = end
    }
    guard let start = subject.start(of: segments[segments.count - 1]) else { return false }
    return start >= place
  }

  /// A folded text.
  private struct Subject {
    let bytes: UnsafeRawBufferPointer
    /// Whether a character begins, or the text ends, at a place; nil when each byte is a character.
    let borders: [Bool]?

    private func isBorder(_ place: Int) -> Bool { borders.map { $0[place] } ?? true }

    private func holds(_ literal: [UInt8], at place: Int) -> Bool {
      guard place >= 0, literal.count <= bytes.count - place else { return false }
      return literal.withUnsafeBytes {
        AttributeValue.orderBytes(
          UnsafeRawBufferPointer(rebasing: bytes[place..<(place + literal.count)]), $0) == 0
      }
    }

    /// Where the pieces end when they begin at `start`; nil when they do not fit there.
    func end(of pieces: [Piece], from start: Int) -> Int? {
      var place = start
      for piece in pieces {
        switch piece {
        case .literal(let literal):
          guard holds(literal, at: place) else { return nil }
          place += literal.count
        case .anyCharacter:
          guard place < bytes.count, isBorder(place) else { return nil }
          repeat { place += 1 } while !isBorder(place)
        }
      }
      return place
    }

    /// Where the pieces begin when they end where the text does; nil when they do not fit there.
    func start(of pieces: [Piece]) -> Int? {
      var place = bytes.count
      for piece in pieces.reversed() {
        switch piece {
        case .literal(let literal):
          place -= literal.count
          guard holds(literal, at: place) else { return nil }
        case .anyCharacter:
          guard place > 0, isBorder(place) else { return nil }
          repeat { place -= 1 } while !isBorder(place)
        }
      }
      return place
    }

    /// Where the pieces end when they begin as early as they can at or after `start`. A later beginning never ends earlier.
    func firstEnd(of pieces: [Piece], from start: Int) -> Int? {
      var place = start
      while true {
        if case .literal(let literal)? = pieces.first {
          let rest = UnsafeRawBufferPointer(rebasing: bytes[place...])
          guard let found = TextSearch.find(literal, in: rest) else { return nil }
          place += found
        }
        if let end = end(of: pieces, from: place) { return end }
        guard place < bytes.count else { return nil }
        place += 1
      }
    }
  }
}
