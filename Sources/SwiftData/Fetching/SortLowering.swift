import StrataCore

/// How a sort descriptor is asked of a store.
enum SortLowering {
  /// - Throws: ``SwiftDataError/unsupportedSortDescriptor`` for one that leads to no stored property.
  static func lowered<T: PersistentModel>(
    _ descriptor: SortDescriptor<T>, _ model: ModelDescriptor, _ rows: RowContext
  ) throws -> (sort: FetchSort, isExact: Bool) {
    guard let keyPath = descriptor.keyPath else {
      throw SwiftDataError(.unsupportedSortDescriptor, "a sort descriptor of \(T.self) has no key path")
    }
    let name: String
    do { name = try Names.name(of: keyPath, model, rows) } catch {
      throw SwiftDataError(.unsupportedSortDescriptor, "\(error)", underlying: error)
    }
    let sort = FetchSort(name, ascending: descriptor.order == .forward)
    guard TextOrder.isText(Swift.type(of: keyPath).valueType) else { return (sort, true) }
    return (sort, TextOrder.isLexical(descriptor.stringComparator))
  }
}

/// The orders of texts.
enum TextOrder {
  static func isText(_ type: any Any.Type) -> Bool { type == String.self || type == String?.self }

  static func isLexical(_ comparator: String.StandardComparator?) -> Bool {
    guard var comparator else { return false }
    comparator.order = .forward
    return comparator == .lexical
  }
}

/// An order of models that no store has: texts as people order them.
struct ModelOrder<T: PersistentModel> {
  private enum Key {
    case text(AnyKeyPath, isAscending: Bool)
    case other(SortDescriptor<T>)
  }
  private let keys: [Key]

  init(_ descriptors: [SortDescriptor<T>]) throws {
    keys = descriptors.map { descriptor in
      if let keyPath = descriptor.keyPath, TextOrder.isText(type(of: keyPath).valueType),
        !TextOrder.isLexical(descriptor.stringComparator)
      {
        return .text(keyPath, isAscending: descriptor.order == .forward)
      }
      return .other(descriptor)
    }
  }

  /// The models in order; those that all keys call equal stay as they were.
  func sorted(_ models: [T]) -> [T] {
    let texts = models.map { model in
      keys.map { key -> String? in
        guard case .text(let keyPath, _) = key else { return nil }
        let value = model[keyPath: keyPath]
        return value as? String
      }
    }
    return models.indices.sorted { a, b in
      for (place, key) in keys.enumerated() {
        let order: ComparisonResult
        switch key {
        case .text(_, let isAscending): order = Self.compare(texts[a][place], texts[b][place], isAscending)
        case .other(let descriptor): order = descriptor.compare(models[a], models[b])
        }
        if order != .orderedSame { return order == .orderedAscending }
      }
      return a < b
    }.map { models[$0] }
  }

  private static func compare(_ a: String?, _ b: String?, _ isAscending: Bool) -> ComparisonResult {
    let order: ComparisonResult
    switch (a, b) {
    case (nil, nil): order = .orderedSame
    case (nil, _): order = .orderedAscending
    case (_, nil): order = .orderedDescending
    case (let a?, let b?): order = a == b ? .orderedSame : a.localizedStandardCompare(b)
    }
    if isAscending { return order }
    return order == .orderedAscending
      ? .orderedDescending : order == .orderedDescending ? .orderedAscending : order
  }
}

/// Foundation has no `.localizedStandard` here: what stands for it.
public struct LocalizedStandardComparator: Sendable, Hashable {
  /// The order of a list of files: without regard to case, numbers by their value.
  public static let localizedStandard = LocalizedStandardComparator()
}

extension SortDescriptor where Compared: PersistentModel {
  /// Sorts by a text as people order texts, which a fetch does with texts that have no comparator.
  public init(
    _ keyPath: any KeyPath<Compared, String> & Sendable, comparator: LocalizedStandardComparator,
    order: SortOrder = .forward
  ) {
    self.init(keyPath, order: order)
  }

  /// Sorts by a text as people order texts, which a fetch does with texts that have no comparator.
  public init(
    _ keyPath: any KeyPath<Compared, String?> & Sendable, comparator: LocalizedStandardComparator,
    order: SortOrder = .forward
  ) {
    self.init(keyPath, order: order)
  }
}
