import StrataCore

/// How a sort descriptor is asked of a store.
enum SortLowering {
  /// - Throws: ``SwiftDataError/unsupportedSortDescriptor`` for one that leads to no stored property.
  static func lowered<T: PersistentModel>(
    _ descriptor: SortDescriptor<T>, _ model: ModelDescriptor, _ rows: RowContext
  ) throws -> FetchSort {
    guard let keyPath = descriptor.keyPath else {
      throw SwiftDataError(.unsupportedSortDescriptor, "a sort descriptor of \(T.self) has no key path")
    }
    let localized = LocalizedTexts.text(of: keyPath)
    let name: String
    do {
      name = try Names.name(of: localized ?? keyPath, model, rows, in: .sortKey)
    } catch let error as SwiftDataError {
      throw SwiftDataError(
        .unsupportedSortDescriptor, error.reason, underlying: error.underlyingError ?? error)
    }
    return FetchSort(
      name, ascending: descriptor.order == .forward,
      comparator: localized == nil ? collation(of: descriptor, keyPath) : .localized)
  }

  private static func collation<T>(of descriptor: SortDescriptor<T>, _ keyPath: AnyKeyPath) -> TextCollation {
    let type = Swift.type(of: keyPath).valueType
    guard type == String.self || type == String?.self else { return .bytes }
    guard var comparator = descriptor.stringComparator else { return .localizedStandard }
    comparator.order = .forward
    return comparator == .lexical ? .bytes : .localizedStandard
  }
}

/// An order of texts that Foundation has no comparator for on Linux.
public struct LocalizedComparator: Sendable, Hashable {
  fileprivate let isStandard: Bool
  /// The order of a list of files: without regard to case, numbers by their value. The order of texts that have no comparator.
  public static let localizedStandard = LocalizedComparator(isStandard: true)
  /// The order of a dictionary of the user's language, as `localizedCompare(_:)` has it.
  public static let localized = LocalizedComparator(isStandard: false)
}

extension SortDescriptor where Compared: PersistentModel {
  /// Sorts by a text as people order texts.
  public init(
    _ keyPath: any KeyPath<Compared, String> & Sendable, comparator: LocalizedComparator,
    order: SortOrder = .forward
  ) {
    if comparator.isStandard {
      self.init(keyPath, order: order)
    } else {
      let path: KeyPath<Compared, String> = keyPath
      self.init(localized: path.appending(path: \.inLocalizedOrder), of: path, order)
    }
  }

  /// Sorts by a text that may be nil as people order texts; nil is the smallest value.
  public init(
    _ keyPath: any KeyPath<Compared, String?> & Sendable, comparator: LocalizedComparator,
    order: SortOrder = .forward
  ) {
    if comparator.isStandard {
      self.init(keyPath, order: order)
    } else {
      let path: KeyPath<Compared, String?> = keyPath
      self.init(localized: path.appending(path: \.inLocalizedOrder), of: path, order)
    }
  }

  private init(localized keyPath: KeyPath<Compared, LocalizedText>, of text: AnyKeyPath, _ order: SortOrder) {
    LocalizedTexts.note(keyPath, of: text)
    // Unsafe: it is made of a Sendable key path and a property without arguments.
    self.init(
      unsafeBitCast(keyPath, to: (any KeyPath<Compared, LocalizedText> & Sendable).self), order: order)
  }
}

/// A text in the order of the user's language: what the key path of a sort descriptor leads to, which has nothing else to say how it sorts.
private struct LocalizedText: Comparable, Sendable {
  let text: String?

  static func < (left: Self, right: Self) -> Bool {
    guard let first = left.text, let second = right.text else { return left.text == nil && right.text != nil }
    return first.localizedCompare(second) == .orderedAscending
  }
  static func == (left: Self, right: Self) -> Bool {
    guard let first = left.text, let second = right.text else { return left.text == nil && right.text == nil }
    return first.localizedCompare(second) == .orderedSame
  }
}

extension String {
  fileprivate var inLocalizedOrder: LocalizedText { LocalizedText(text: self) }
}

extension String? {
  fileprivate var inLocalizedOrder: LocalizedText { LocalizedText(text: self) }
}

/// Key paths to texts in the order of the user's language, and those to the texts themselves.
private enum LocalizedTexts {
  // Unsafe: behind the lock; key paths of models capture nothing.
  nonisolated(unsafe) private static var texts: [AnyKeyPath: AnyKeyPath] = [:]
  private static let lock = NSLock()

  static func note(_ keyPath: AnyKeyPath, of text: AnyKeyPath) { lock.withLock { texts[keyPath] = text } }
  /// The key path to the text; nil for one that leads to something else.
  static func text(of keyPath: AnyKeyPath) -> AnyKeyPath? {
    guard type(of: keyPath).valueType == LocalizedText.self else { return nil }
    return lock.withLock { texts[keyPath] }
  }
}
