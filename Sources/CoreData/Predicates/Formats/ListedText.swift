import Foundation

/// The text that stands for a value in a C list of arguments: functions print it for `%@`, since Foundation prints no other objects than its texts
/// there, and what makes predicates of the list takes the value out of it.
///
/// The text is made when it is read first: of a predicate's arguments it never is.
final class ListedText: NSString {
  /// What it stands for.
  let value: Any
  private let describe: () -> String
  private lazy var text = NSString(string: describe())

  init(_ value: Any, describedBy describe: @escaping () -> String) {
    self.value = value
    self.describe = describe
    super.init(characters: [], length: 0)
  }

  convenience init(_ value: Any) { self.init(value) { "\(value)" } }

  convenience init(_ value: Any, text: String) { self.init(value) { text } }

  /// A place in a list for one that nobody holds: it stays in memory.
  static func encoding(_ text: ListedText) -> [Int] {
    [Int(bitPattern: Unmanaged.passRetained(text).toOpaque())]
  }

  override var length: Int { text.length }

  override func character(at index: Int) -> unichar { text.character(at: index) }

  // What every class of texts must have, and nobody calls.

  @available(*, unavailable)
  required init?(coder: NSCoder) { stop("texts of arguments are not archived.") }

  required convenience init(string aString: String) { self.init(aString, text: aString) }

  required convenience init(stringLiteral value: StaticString) { self.init("\(value)", text: "\(value)") }

  required convenience init(unicodeScalarLiteral value: StaticString) {
    self.init("\(value)", text: "\(value)")
  }

  required convenience init(extendedGraphemeClusterLiteral value: StaticString) {
    self.init("\(value)", text: "\(value)")
  }
}
