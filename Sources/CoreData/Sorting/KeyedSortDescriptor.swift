import StrataCore

/// What `NSSortDescriptor(key:ascending:)` and its like make: a sort descriptor that knows the name of its key.
final class KeyedSortDescriptor: NSSortDescriptor {
  /// How two values are compared.
  enum Rule {
    /// As stores sort: nil first, numbers by value, texts by their bytes, managed objects and their IDs by primary key.
    case values
    /// Texts by a method of `NSString`.
    case text(TextOrder)
    /// By a function of the application.
    case comparator(Comparator)
  }

  let name: String?
  let rule: Rule

  init(_ name: String?, ascending: Bool, _ rule: Rule) {
    self.name = name
    self.rule = rule
    super.init(keyPath: \NSObject.self, ascending: ascending, comparator: { _, _ in .orderedSame })
  }

  /// What sorts as a request does that is a value.
  convenience init(_ sort: FetchSort) {
    let rule: Rule = if let order = TextOrder(sort.comparator) { .text(order) } else { .values }
    self.init(sort.key, ascending: sort.ascending, rule)
  }

  @available(*, unavailable)
  required init?(coder: NSCoder) { stop("sort descriptors are not archived.") }

  override func compare(_ object1: Any, to object2: Any) -> ComparisonResult {
    let first = value(object1)
    let second = value(object2)
    let order =
      switch rule {
      case .values: Self.compare(first, second)
      case .text(let order): order.compare(first, second)
      case .comparator(let comparator): comparator(first ?? NSNull(), second ?? NSNull())
      }
    return ascending ? order : order.reversed
  }

  private func value(_ object: Any) -> Any? {
    guard let name, name != "self", name != "SELF" else { return plain(object) }
    return KeyedAccess.value(object, name)
  }

  static func compare(_ first: Any?, _ second: Any?) -> ComparisonResult {
    if let left = AttributeValue(first, type: .undefined),
      let right = AttributeValue(second, type: .undefined)
    {
      return ComparisonResult(ComparedValues.order(left, right))
    }
    switch (identifier(first), identifier(second)) {
    case (let left?, let right?): return ComparisonResult(ComparedValues.order(left, right))
    case (nil, .some) where first == nil: return .orderedAscending
    case (.some, nil) where second == nil: return .orderedDescending
    default: stop("\(kind(first)) and \(kind(second)) have no order.")
    }
  }

  /// That of a managed object, or the ID itself: they sort as a fetch sorts objects. Nil for anything else.
  private static func identifier(_ value: Any?) -> ManagedObjectID? {
    (value as? ManagedObject)?.objectID ?? value as? ManagedObjectID
  }

  /// What a value is, said of what an optional holds.
  private static func kind(_ value: Any?) -> String {
    plain(value).map { "a value of type \(type(of: $0))" } ?? "nil"
  }

  override var comparator: Comparator {
    switch rule {
    case .values: { KeyedSortDescriptor.compare(plain($0), plain($1)) }
    case .text(let order): { order.compare(plain($0), plain($1)) }
    case .comparator(let comparator): comparator
    }
  }

  override var reversedSortDescriptor: Any { KeyedSortDescriptor(name, ascending: !ascending, rule) }

  override func copy(with zone: NSZone? = nil) -> Any { self }
  override func copy() -> Any { self }

  override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? KeyedSortDescriptor else { return false }
    if other === self { return true }
    guard other.name == name, other.ascending == ascending else { return false }
    switch (rule, other.rule) {
    case (.values, .values): return true
    case (.text(let left), .text(let right)): return left == right
    default: return false
    }
  }

  override var hash: Int {
    var hasher = Hasher()
    hasher.combine(name)
    hasher.combine(ascending)
    return hasher.finalize()
  }

  override var description: String {
    "(\(name ?? "self"), \(ascending ? "ascending" : "descending"))"
  }
}

/// The orders of texts that methods of `NSString` give.
enum TextOrder: String, CaseIterable {
  case plain = "compare:"
  case caseInsensitive = "caseInsensitiveCompare:"
  case localized = "localizedCompare:"
  case localizedCaseInsensitive = "localizedCaseInsensitiveCompare:"
  case localizedStandard = "localizedStandardCompare:"

  /// The order that a fetch has; nil for that of bytes, which needs no method.
  init?(_ collation: TextCollation) {
    guard collation != .bytes, let order = Self.allCases.first(where: { $0.collation == collation }) else {
      return nil
    }
    self = order
  }

  /// The same in a fetch.
  var collation: TextCollation {
    switch self {
    case .plain: .bytes
    case .caseInsensitive: .caseInsensitive
    case .localized: .localized
    case .localizedCaseInsensitive: .localizedCaseInsensitive
    case .localizedStandard: .localizedStandard
    }
  }

  /// Nil comes first; what is no text is compared as values are.
  func compare(_ first: Any?, _ second: Any?) -> ComparisonResult {
    guard let left = first as? String, let right = second as? String else {
      return KeyedSortDescriptor.compare(first, second)
    }
    return collation.compare(left, right)
  }
}

extension ComparisonResult {
  init(_ order: Int) { self = order < 0 ? .orderedAscending : order > 0 ? .orderedDescending : .orderedSame }

  var reversed: ComparisonResult {
    switch self {
    case .orderedAscending: .orderedDescending
    case .orderedDescending: .orderedAscending
    case .orderedSame: .orderedSame
    }
  }
}
