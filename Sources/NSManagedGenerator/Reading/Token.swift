/// Code in a text.
struct Interpolation {
  /// Its bytes in the file, from the backslash on.
  let range: Range<Int>
  /// From the opening bracket to the closing one, and the end.
  let tokens: [Token]
}

/// One word or sign of a Swift file.
struct Token {
  enum Kind: UInt8 {
    /// A name or a keyword.
    case word
    /// A name between backticks, which are not part of its text.
    case quotedWord
    /// A literal: what is in it does not matter here.
    case literal
    /// One sign; operators are several.
    case sign
    /// `#if`, `#elseif`, `#else` or `#endif`; the text is the whole line without comments.
    case directive
    /// A comment that says what a type is; the text is what follows the colon.
    case hint
    /// The end of the file.
    case end
  }

  let kind: Kind
  /// Empty for literals.
  let text: String
  let line: Int
  let column: Int
  /// Its bytes in the file, backticks included.
  let range: Range<Int>
  /// Whether blanks, a new line or a comment stand before it.
  let followsSpace: Bool
  /// The code in a text, `\(…)`.
  let interpolations: [Interpolation]

  /// Whether this is the sign or the keyword `text`.
  func `is`(_ text: String) -> Bool { (kind == .sign || kind == .word) && self.text == text }
  /// Whether this is a name.
  var isName: Bool { kind == .word || kind == .quotedWord }
}
