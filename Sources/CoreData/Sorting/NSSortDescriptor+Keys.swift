import StrataCore

/// What lets an initialiser of sort descriptors decide which class it makes an object of; see `FormatReadable`.
public protocol KeySortable {}

extension NSSortDescriptor: KeySortable {}

extension KeySortable where Self: NSSortDescriptor {
  /// Sorts by what the key path leads to: nil first, numbers by value, texts by their bytes, which is how stores sort. `objectID` and `self` of managed objects
  /// sort by primary key. Without a key by the elements themselves.
  public init(key: String?, ascending: Bool) {
    self = Self.made(KeyedSortDescriptor(key, ascending: ascending, .values))
  }

  /// Sorts by a method of texts: `compare:`, `caseInsensitiveCompare:`, `localizedCompare:`, `localizedCaseInsensitiveCompare:`,
  /// `localizedStandardCompare:`. Any other selector traps.
  ///
  /// No index has these orders: a fetch reads all that matches, compares the texts in memory, and cuts its window then. Of an attribute that is no text a
  /// fetch throws.
  public init(key: String?, ascending: Bool, selector: Selector?) {
    let rule: KeyedSortDescriptor.Rule
    if let selector, selector != "compare:" {
      guard let order = TextOrder(rawValue: selector.description) else {
        stop("no sort descriptor can call “\(selector)” without the Objective-C runtime.")
      }
      rule = .text(order)
    } else {
      rule = .values
    }
    self = Self.made(KeyedSortDescriptor(key, ascending: ascending, rule))
  }

  /// Sorts by a function of the application. In memory, and in fetches whose stores are all in memory or atomic: another fetch throws.
  public init(key: String?, ascending: Bool, comparator cmptr: @escaping Comparator) {
    self = Self.made(KeyedSortDescriptor(key, ascending: ascending, .comparator(cmptr)))
  }

  /// Sorts by what a Swift key path leads to, whose values may be nil: nil first. For values that are `Comparable` Foundation has an initialiser
  /// that looks the same.
  public init<Root, Value>(keyPath: KeyPath<Root, Value>, ascending: Bool) {
    self = Self.made(KeyPathSortDescriptor(keyPath, ascending: ascending))
  }

  /// Sorts as a `SortDescriptor` does. A fetch reads all that matches and sorts texts in memory, for these are compared by a locale.
  public init<Compared: NSObject>(_ sortDescriptor: SortDescriptor<Compared>) {
    self = Self.made(SwiftSortDescriptor(sortDescriptor))
  }

  private static func made(_ descriptor: NSSortDescriptor) -> Self {
    guard let made = descriptor as? Self else {
      stop("a sort descriptor with a key is of a class of its own, no \(Self.self).")
    }
    return made
  }
}

/// A sort descriptor by a Swift key path to values that may be nil.
final class KeyPathSortDescriptor: NSSortDescriptor {
  init<Root, Value>(_ keyPath: KeyPath<Root, Value>, ascending: Bool) {
    super.init(keyPath: keyPath, ascending: ascending) { KeyedSortDescriptor.compare(plain($0), plain($1)) }
  }

  @available(*, unavailable)
  required init?(coder: NSCoder) { stop("sort descriptors are not archived.") }
}

/// A `SortDescriptor` as an `NSSortDescriptor`.
final class SwiftSortDescriptor: NSSortDescriptor {
  private let compared: (Any, Any) -> ComparisonResult
  private let reversedDescriptor: () -> NSSortDescriptor
  /// What it sorts by; nil when Foundation does not tell.
  let path: AnyKeyPath?

  init<Compared>(_ descriptor: SortDescriptor<Compared>) {
    compared = { first, second in
      guard let first = first as? Compared, let second = second as? Compared else {
        refuse("a sort descriptor of \(Compared.self) sorts no \(type(of: first)).")
        return .orderedSame
      }
      return descriptor.compare(first, second)
    }
    reversedDescriptor = {
      var reversed = descriptor
      reversed.order = descriptor.order == .forward ? .reverse : .forward
      return SwiftSortDescriptor(reversed)
    }
    path = descriptor.keyPath
    super.init(
      keyPath: \NSObject.self, ascending: descriptor.order == .forward, comparator: { _, _ in .orderedSame })
  }

  @available(*, unavailable)
  required init?(coder: NSCoder) { stop("sort descriptors are not archived.") }

  override var keyPath: AnyKeyPath { path ?? super.keyPath }
  override func compare(_ object1: Any, to object2: Any) -> ComparisonResult { compared(object1, object2) }
  override var reversedSortDescriptor: Any { reversedDescriptor() }
  override func copy(with zone: NSZone? = nil) -> Any { self }
  override func copy() -> Any { self }
}

extension NSSortDescriptor {
  /// The key; nil of a descriptor of elements themselves, and of one that was made with a Swift key path, whose names are known to a fetch only.
  public var key: String? { (self as? KeyedSortDescriptor)?.name }

  /// The method that compares: `compare:`, or that of `NSString` which the descriptor was made with; nil where a function does.
  public var selector: Selector? {
    if let keyed = self as? KeyedSortDescriptor {
      return switch keyed.rule {
      case .values: "compare:"
      case .text(let order): Selector(order.rawValue)
      case .comparator: nil
      }
    }
    if self is KeyPathSortDescriptor { return "compare:" }
    return self is SwiftSortDescriptor || !NaturalOrder.isOrder(of: self) ? nil : "compare:"
  }

  /// Does nothing: sort descriptors are not read from archives here, so none has to be allowed.
  public func allowEvaluation() {}
}
