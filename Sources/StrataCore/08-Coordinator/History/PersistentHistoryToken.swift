import Foundation

/// A moment in the history of one store or several: how many commits each has had.
///
/// Immutable; it may be kept, encoded and compared with others, also in another process and after copying the files. `Codable` and
/// `NSSecureCoding` write the same; what is read back is checked.
public final class PersistentHistoryToken: NSObject, NSSecureCoding, NSCopying, Codable, Sendable {
  /// By the stores' UUIDs: the store's own count of its commits.
  public let commitNumbers: [UUID: UInt64]

  init(_ commitNumbers: [UUID: UInt64]) {
    self.commitNumbers = commitNumbers
    super.init()
  }

  convenience init(storeIdentifier: UUID, commitNumber: UInt64) {
    self.init([storeIdentifier: commitNumber])
  }

  /// The commits that a store has had; nil for a store the token knows nothing of.
  public func commitNumber(of storeIdentifier: UUID) -> UInt64? { commitNumbers[storeIdentifier] }

  // MARK: As text

  private static let prefix = "strata-history"

  /// `strata-history <UUID>@<number> …`, sorted.
  var text: String {
    ([Self.prefix] + commitNumbers.map { "\($0.uuidString)@\($1)" }.sorted()).joined(separator: " ")
  }

  /// Nil for a text that is none of a token.
  init?(text: String) {
    let parts = text.split(separator: " ")
    guard parts.first.map(String.init) == Self.prefix, parts.count <= 1_024 else { return nil }
    var numbers: [UUID: UInt64] = [:]
    for part in parts.dropFirst() {
      let sides = part.split(separator: "@", omittingEmptySubsequences: false)
      guard sides.count == 2, let identifier = UUID(uuidString: String(sides[0])),
        let number = UInt64(sides[1]), numbers.updateValue(number, forKey: identifier) == nil
      else { return nil }
    }
    commitNumbers = numbers
    super.init()
  }

  public override var description: String { text }

  // MARK: Codable

  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    guard let token = PersistentHistoryToken(text: try container.decode(String.self)) else {
      throw DecodingError.dataCorruptedError(in: container, debugDescription: "The text is no history token.")
    }
    commitNumbers = token.commitNumbers
    super.init()
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(text)
  }

  // MARK: NSSecureCoding

  public static var supportsSecureCoding: Bool { true }

  /// Nil when what was archived is no token.
  public convenience init?(coder: NSCoder) {
    guard let text = coder.decodeObject(of: NSString.self, forKey: "positions") else { return nil }
    self.init(text: text as String)
  }

  public func encode(with coder: NSCoder) { coder.encode(text as NSString, forKey: "positions") }

  /// The token itself.
  public func copy(with zone: NSZone? = nil) -> Any { self }

  // MARK: Equality

  public override func isEqual(_ object: Any?) -> Bool {
    (object as? PersistentHistoryToken)?.commitNumbers == commitNumbers
  }

  public override var hash: Int { commitNumbers.hashValue }
}

extension PersistentHistoryToken: PredicateArgument {
  /// A constant that history requests compare with the key `token`.
  public var predicateExpression: FetchExpression { .constant(.string(text)) }
}
