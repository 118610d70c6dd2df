import Foundation

/// A moment in the history of one store or several: how many commits each has had, and what tells these from as many commits of a copy.
///
/// Immutable; it may be kept, encoded and compared with others, also in another process and after copying the files. `Codable` and
/// `NSSecureCoding` write the same; what is read back is checked.
public final class PersistentHistoryToken: NSObject, NSSecureCoding, NSCopying, Codable, Sendable {
  /// By the stores' UUIDs: the store's own count of its commits.
  public let commitNumbers: [UUID: UInt64]
  /// By the stores' UUIDs, see `HistoryMark`; none for stores without a history.
  let marks: [UUID: UInt64]

  init(_ moments: [UUID: HistoryMoment]) {
    commitNumbers = moments.mapValues(\.number)
    marks = moments.compactMapValues(\.mark)
    super.init()
  }

  convenience init(storeIdentifier: UUID, _ moment: HistoryMoment) {
    self.init([storeIdentifier: moment])
  }

  /// How far a store is; nil for a store the token knows nothing of.
  func moment(of storeIdentifier: UUID) -> HistoryMoment? {
    commitNumbers[storeIdentifier].map { HistoryMoment(number: $0, mark: marks[storeIdentifier]) }
  }

  /// The commits that a store has had; nil for a store the token knows nothing of.
  public func commitNumber(of storeIdentifier: UUID) -> UInt64? { commitNumbers[storeIdentifier] }

  // MARK: As text

  private static let prefix = "strata-history"

  /// `strata-history <UUID>@<number>.<mark> …`, sorted; marks in hexadecimal, left out with their dot where there is none.
  var text: String {
    let moments = commitNumbers.map { store, number in
      "\(store.uuidString)@\(number)" + (marks[store].map { "." + String($0, radix: 16) } ?? "")
    }
    return ([Self.prefix] + moments.sorted()).joined(separator: " ")
  }

  /// Nil for a text that is none of a token.
  init?(text: String) {
    let parts = text.split(separator: " ")
    guard parts.first.map(String.init) == Self.prefix, parts.count <= 1_024 else { return nil }
    var numbers: [UUID: UInt64] = [:]
    var marks: [UUID: UInt64] = [:]
    for part in parts.dropFirst() {
      let sides = part.split(separator: "@", omittingEmptySubsequences: false)
      guard sides.count == 2, let identifier = UUID(uuidString: String(sides[0])) else { return nil }
      let halves = sides[1].split(separator: ".", omittingEmptySubsequences: false)
      guard halves.count <= 2, let number = UInt64(halves[0]),
        numbers.updateValue(number, forKey: identifier) == nil
      else { return nil }
      if halves.count == 1 { continue }
      guard let mark = UInt64(halves[1], radix: 16) else { return nil }
      marks[identifier] = mark
    }
    commitNumbers = numbers
    self.marks = marks
    super.init()
  }

  public override var description: String { text }

  // MARK: Codable

  /// Reads what `encode(to:)` has written.
  /// - Throws: `DecodingError` for a text that is no token.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    guard let token = PersistentHistoryToken(text: try container.decode(String.self)) else {
      throw DecodingError.dataCorruptedError(in: container, debugDescription: "The text is no history token.")
    }
    commitNumbers = token.commitNumbers
    marks = token.marks
    super.init()
  }

  /// Writes the token as a text.
  /// - Throws: what the encoder throws.
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
    guard let other = object as? PersistentHistoryToken, other.commitNumbers == commitNumbers else {
      return false
    }
    // As many commits of another copy of the store are another moment.
    return marks.allSatisfy { other.marks[$0] == nil || other.marks[$0] == $1 }
  }

  public override var hash: Int { commitNumbers.hashValue }
}

extension PersistentHistoryToken: PredicateArgument {
  /// A constant that history requests compare with the key `token`.
  public var predicateExpression: FetchExpression { .constant(.string(text)) }
}
