import Foundation

/// The order of the objects of a class: sort keys, the first of which counts most.
///
///     try context.fetch(Book.self, sortedBy: .reverse(\.published))
///     try context.fetch(Book.self, sortedBy: [.reverse(\.published), .forward(\.title)])
///
/// Key paths lead to a stored attribute, perhaps of an object that to-one relationships lead to: `\.author?.name`. Texts are ordered by their
/// UTF-8 bytes unless a ``TextCollation`` says otherwise, nil is the smallest value; see ``AttributeValue``.
public struct FetchOrder<Root: ManagedObject>: Sendable, Hashable, ExpressibleByArrayLiteral {
  /// The sort keys.
  public var sorts: [FetchSort]

  /// The order of sort keys that are at hand, for instance by name; an empty list is no order.
  public init(_ sorts: [FetchSort]) { self.sorts = sorts }

  /// By one attribute: `.init(\.published, .reverse)`.
  public init<Value>(_ keyPath: KeyPath<Root, Value> & Sendable, _ order: SortOrder) {
    sorts = [FetchSort(keyPath, order)]
  }

  /// By a text in an order of texts: `.init(\.title, .reverse, comparator: .localizedStandard)`.
  public init(
    _ keyPath: KeyPath<Root, String> & Sendable, _ order: SortOrder = .forward, comparator: TextCollation
  ) {
    sorts = [FetchSort(keyPath, order, comparator: comparator)]
  }

  /// By a text that may be nil, in an order of texts.
  public init(
    _ keyPath: KeyPath<Root, String?> & Sendable, _ order: SortOrder = .forward, comparator: TextCollation
  ) {
    sorts = [FetchSort(keyPath, order, comparator: comparator)]
  }

  /// By the order of each element in turn.
  public init(arrayLiteral elements: FetchOrder<Root>...) { sorts = elements.flatMap(\.sorts) }

  /// By Foundation's sort descriptors; see `FetchSort.init(_:)` for what they may be.
  public init(_ descriptors: [SortDescriptor<Root>]) { sorts = descriptors.map { FetchSort($0) } }

  /// Small values first.
  public static func forward<Value>(_ keyPath: KeyPath<Root, Value> & Sendable) -> FetchOrder {
    FetchOrder(keyPath, .forward)
  }

  /// Large values first, nil last.
  public static func reverse<Value>(_ keyPath: KeyPath<Root, Value> & Sendable) -> FetchOrder {
    FetchOrder(keyPath, .reverse)
  }

  /// By a text in an order of texts: `.forward(\.title, comparator: .localizedStandard)`.
  public static func forward(
    _ keyPath: KeyPath<Root, String> & Sendable, comparator: TextCollation
  ) -> FetchOrder { FetchOrder(keyPath, .forward, comparator: comparator) }

  /// By a text that may be nil, in an order of texts; nil first.
  public static func forward(
    _ keyPath: KeyPath<Root, String?> & Sendable, comparator: TextCollation
  ) -> FetchOrder { FetchOrder(keyPath, .forward, comparator: comparator) }

  /// By a text in an order of texts, the other way round.
  public static func reverse(
    _ keyPath: KeyPath<Root, String> & Sendable, comparator: TextCollation
  ) -> FetchOrder { FetchOrder(keyPath, .reverse, comparator: comparator) }

  /// By a text that may be nil, in an order of texts, the other way round; nil last.
  public static func reverse(
    _ keyPath: KeyPath<Root, String?> & Sendable, comparator: TextCollation
  ) -> FetchOrder { FetchOrder(keyPath, .reverse, comparator: comparator) }
}

extension FetchSort {
  /// Sorts by the attribute that a key path of a class leads to, which the compiler checks: `FetchSort(\Book.title, .reverse)`.
  ///
  /// The name of the property is found when a request with the key is executed, once for each key path and model. A key path that leads to no stored
  /// property fails that request with ``PredicateTranslationError``.
  public init<Root: ManagedObject, Value>(
    _ keyPath: KeyPath<Root, Value> & Sendable, _ order: SortOrder = .forward
  ) {
    self.init(Self.key(keyPath), ascending: order == .forward)
  }

  /// Sorts by a text in an order of texts: `FetchSort(\Book.title, comparator: .localizedStandard)`.
  public init<Root: ManagedObject>(
    _ keyPath: KeyPath<Root, String> & Sendable, _ order: SortOrder = .forward, comparator: TextCollation
  ) {
    self.init(Self.key(keyPath), ascending: order == .forward, comparator: comparator)
  }

  /// Sorts by a text that may be nil, in an order of texts; nil is the smallest value.
  public init<Root: ManagedObject>(
    _ keyPath: KeyPath<Root, String?> & Sendable, _ order: SortOrder = .forward, comparator: TextCollation
  ) {
    self.init(Self.key(keyPath), ascending: order == .forward, comparator: comparator)
  }

  /// Sorts as one of Foundation's sort descriptors, which says a key path and an order: `SortDescriptor(\Book.title, order: .reverse)`.
  ///
  /// Texts are compared by their bytes, as everywhere in requests, which for canonically composed texts is Swift's order of strings, unless the sort descriptor has
  /// another comparator: `SortDescriptor(\Book.title, comparator: .localizedStandard)`. One with no key path at all fails the request that it is used in with
  /// ``PredicateTranslationError``.
  public init<Root: ManagedObject>(_ descriptor: SortDescriptor<Root>) {
    let isAscending = descriptor.order == .forward
    guard let keyPath = descriptor.keyPath else {
      self.init(
        Self.refused(\Root.self, "the sort descriptor has no key path that a store could follow"),
        ascending: isAscending)
      return
    }
    // Unsafe: a sort descriptor is Sendable and takes key paths that are.
    let path = unsafeBitCast(keyPath, to: (PartialKeyPath<Root> & Sendable).self)
    if let type = type(of: keyPath).valueType as? any CollatedText.Type {
      self.init(Self.key(path), ascending: isAscending, comparator: type.comparator)
    } else if let comparator = descriptor.stringComparator.map(TextCollation.init(_:)) {
      if let comparator {
        self.init(Self.key(path), ascending: isAscending, comparator: comparator)
      } else {
        self.init(
          Self.refused(\Root.self, "its comparator is none that requests know"), ascending: isAscending)
      }
    } else {
      self.init(Self.key(path), ascending: isAscending)
    }
  }

  private static func key(_ keyPath: any AnyKeyPath & Sendable) -> PropertyKey {
    PropertyKey(keyPath: keyPath) { keyPath, entity, schema in
      try PredicateTranslationError.naming(.sortKey) {
        try KeyPathNames.name(of: keyPath, from: entity, schema)
      }
    }
  }

  private static func refused(_ keyPath: any AnyKeyPath & Sendable, _ reason: String) -> PropertyKey {
    PropertyKey(keyPath: keyPath) { keyPath, _, _ in
      throw PredicateTranslationError(
        .sortKey, expression: "sort descriptor of \(type(of: keyPath).rootType)", reason: reason)
    }
  }
}
