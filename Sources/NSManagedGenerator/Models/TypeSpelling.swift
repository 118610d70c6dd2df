/// Types as a model names them for its transformable attributes: `NSColor`, `Paint.Hue`, `Set<Int>`, `[String: [Int]]`.
///
/// The text goes into generated code as it stands. So it is read as a type, and whatever is none, with braces, quotes, line breaks or comments in
/// it for instance, is refused.
struct TypeSpelling {
  private var rest: Substring
  /// Types in types go no deeper.
  private static let depthLimit = 16

  /// Whether all of `text` is one type.
  static func isType(_ text: String) -> Bool {
    var spelling = TypeSpelling(rest: text[...])
    return spelling.takeType(0) && spelling.rest.isEmpty
  }

  private mutating func take(_ sign: Character) -> Bool {
    let found = rest.drop { $0 == " " }
    guard found.first == sign else { return false }
    rest = found.dropFirst()
    return true
  }

  private mutating func takeType(_ depth: Int) -> Bool {
    guard depth < Self.depthLimit else { return false }
    if take("[") {
      guard takeType(depth + 1) else { return false }
      if take(":"), !takeType(depth + 1) { return false }
      return take("]")
    }
    repeat { guard takeName() else { return false } } while take(".")
    guard take("<") else { return true }
    repeat { guard takeType(depth + 1) else { return false } } while take(",")
    return take(">")
  }

  private mutating func takeName() -> Bool {
    let found = rest.drop { $0 == " " }
    let name = found.prefix { !" .<>[]:,".contains($0) }
    guard Spelling.isName(String(name)) else { return false }
    rest = found.dropFirst(name.count)
    return true
  }
}
