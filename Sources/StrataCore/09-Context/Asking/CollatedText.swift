import Foundation

/// A text with the order that it is compared in: what a sort descriptor's key path leads to where Foundation has no such comparator.
///
/// A sort descriptor has nothing but a key path and an order to say how it sorts. So the type at the path's end says it: it sorts in memory by itself, and a
/// request knows it by its type.
protocol CollatedText: Comparable, Sendable {
  static var comparator: TextCollation { get }
  var text: String? { get }
  init(text: String?)
}

extension CollatedText {
  static func < (left: Self, right: Self) -> Bool {
    guard let first = left.text, let second = right.text else { return left.text == nil && right.text != nil }
    return comparator.compare(first, second) == .orderedAscending
  }

  static func == (left: Self, right: Self) -> Bool {
    guard let first = left.text, let second = right.text else { return left.text == nil && right.text == nil }
    return comparator.compare(first, second) == .orderedSame
  }
}

struct LocalizedStandardText: CollatedText {
  static var comparator: TextCollation { .localizedStandard }
  let text: String?
}

struct LocalizedText: CollatedText {
  static var comparator: TextCollation { .localized }
  let text: String?
}

struct LocalizedCaseInsensitiveText: CollatedText {
  static var comparator: TextCollation { .localizedCaseInsensitive }
  let text: String?
}

struct CaseInsensitiveText: CollatedText {
  static var comparator: TextCollation { .caseInsensitive }
  let text: String?
}

extension String {
  fileprivate var inLocalizedStandardOrder: LocalizedStandardText { LocalizedStandardText(text: self) }
  fileprivate var inLocalizedOrder: LocalizedText { LocalizedText(text: self) }
  fileprivate var inLocalizedCaseInsensitiveOrder: LocalizedCaseInsensitiveText {
    LocalizedCaseInsensitiveText(text: self)
  }
  fileprivate var inCaseInsensitiveOrder: CaseInsensitiveText { CaseInsensitiveText(text: self) }
}

extension String? {
  fileprivate var inLocalizedStandardOrder: LocalizedStandardText { LocalizedStandardText(text: self) }
  fileprivate var inLocalizedOrder: LocalizedText { LocalizedText(text: self) }
  fileprivate var inLocalizedCaseInsensitiveOrder: LocalizedCaseInsensitiveText {
    LocalizedCaseInsensitiveText(text: self)
  }
  fileprivate var inCaseInsensitiveOrder: CaseInsensitiveText { CaseInsensitiveText(text: self) }
}

extension TextCollation {
  /// The order that one of Foundation's comparators of texts has; nil for one that is none of the three.
  init?(_ comparator: String.StandardComparator) {
    var forward = comparator
    forward.order = .forward
    switch forward {
    case .lexical: self = .bytes
    #if canImport(Darwin)
      case .localizedStandard: self = .localizedStandard
      case .localized: self = .localized
    #endif
    default: return nil
    }
  }
}

// Foundation has these orders of texts on Apple's systems only.
#if !canImport(Darwin)
  extension SortDescriptor where Compared: ManagedObject {
    /// Sorts by a text in an order of texts, in requests and in memory:
    ///
    ///     try context.fetch(Book.self, sortedBy: [SortDescriptor(\Book.title, comparator: .localizedStandard)])
    public init(
      _ keyPath: any KeyPath<Compared, String> & Sendable, comparator: TextCollation,
      order: SortOrder = .forward
    ) {
      let path: KeyPath<Compared, String> = keyPath
      switch comparator.rule {
      case .bytes: self.init(keyPath, order: order)
      case .localizedStandard: self.init(collated: path.appending(path: \.inLocalizedStandardOrder), order)
      case .localized: self.init(collated: path.appending(path: \.inLocalizedOrder), order)
      case .localizedCaseInsensitive:
        self.init(collated: path.appending(path: \.inLocalizedCaseInsensitiveOrder), order)
      case .caseInsensitive: self.init(collated: path.appending(path: \.inCaseInsensitiveOrder), order)
      }
    }

    /// Sorts by a text that may be nil, in an order of texts; nil is the smallest value.
    public init(
      _ keyPath: any KeyPath<Compared, String?> & Sendable, comparator: TextCollation,
      order: SortOrder = .forward
    ) {
      let path: KeyPath<Compared, String?> = keyPath
      switch comparator.rule {
      case .bytes: self.init(keyPath, order: order)
      case .localizedStandard: self.init(collated: path.appending(path: \.inLocalizedStandardOrder), order)
      case .localized: self.init(collated: path.appending(path: \.inLocalizedOrder), order)
      case .localizedCaseInsensitive:
        self.init(collated: path.appending(path: \.inLocalizedCaseInsensitiveOrder), order)
      case .caseInsensitive: self.init(collated: path.appending(path: \.inCaseInsensitiveOrder), order)
      }
    }

    private init<Text: CollatedText>(collated keyPath: KeyPath<Compared, Text>, _ order: SortOrder) {
      // Unsafe: it is made of a Sendable key path and a property without arguments.
      self.init(unsafeBitCast(keyPath, to: (any KeyPath<Compared, Text> & Sendable).self), order: order)
    }
  }
#endif
