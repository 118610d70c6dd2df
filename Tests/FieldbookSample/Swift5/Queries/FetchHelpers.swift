import SwiftData

// What most apps add to a context: fetches in one line, for whatever model.

extension ModelContext {
  /// All models of a type, in an order.
  func all<T: PersistentModel>(_ type: T.Type = T.self, sortBy: [SortDescriptor<T>] = []) throws -> [T] {
    try fetch(FetchDescriptor<T>(sortBy: sortBy))
  }

  /// The models that match.
  func all<T: PersistentModel>(
    where predicate: Predicate<T>, sortBy: [SortDescriptor<T>] = [], limit: Int? = nil
  ) throws -> [T] {
    var descriptor = FetchDescriptor<T>(predicate: predicate, sortBy: sortBy)
    descriptor.fetchLimit = limit
    return try fetch(descriptor)
  }

  /// The first model that matches.
  func first<T: PersistentModel>(
    where predicate: Predicate<T>? = nil, sortBy: [SortDescriptor<T>] = []
  ) throws -> T? {
    var descriptor = FetchDescriptor<T>(predicate: predicate, sortBy: sortBy)
    descriptor.fetchLimit = 1
    return try fetch(descriptor).first
  }

  /// How many models match.
  func count<T: PersistentModel>(_ type: T.Type = T.self, where predicate: Predicate<T>? = nil) throws -> Int
  {
    try fetchCount(FetchDescriptor<T>(predicate: predicate))
  }

  /// Whether any model matches.
  func exists<T: PersistentModel>(where predicate: Predicate<T>) throws -> Bool {
    var descriptor = FetchDescriptor<T>(predicate: predicate)
    descriptor.fetchLimit = 1
    return try fetchCount(descriptor) > 0
  }

  /// The model that matches, or one that is made and inserted.
  func firstOrInsert<T: PersistentModel>(where predicate: Predicate<T>, make: () -> T) throws -> T {
    if let found = try first(where: predicate) { return found }
    let made = make()
    insert(made)
    return made
  }

  /// Deletes what matches, one by one, so that delete rules apply at once.
  @discardableResult
  func deleteAll<T: PersistentModel>(where predicate: Predicate<T>) throws -> Int {
    let found = try all(where: predicate)
    for model in found { delete(model) }
    return found.count
  }

  /// The model of an identifier, if there is still one.
  func existing<T: PersistentModel>(_ type: T.Type, _ identifier: PersistentIdentifier) throws -> T? {
    if let registered: T = registeredModel(for: identifier) { return registered }
    return try first(where: #Predicate<T> { $0.persistentModelID == identifier })
  }

  /// Saves when there is something to save.
  func saveIfNeeded() throws {
    if hasChanges { try save() }
  }
}

/// One page of a list.
struct Page<Element> {
  let elements: [Element]
  let number: Int
  let total: Int
  let size: Int

  var isLast: Bool { (number + 1) * size >= total }
  var pageCount: Int { (total + size - 1) / size }
}

extension ModelContext {
  /// One page of what a descriptor finds. The descriptor needs an order, or pages overlap.
  func page<T: PersistentModel>(_ number: Int, size: Int, of descriptor: FetchDescriptor<T>) throws -> Page<T>
  {
    precondition(size > 0 && number >= 0 && !descriptor.sortBy.isEmpty)
    var window = descriptor
    window.fetchLimit = size
    window.fetchOffset = number * size
    return Page(
      elements: try fetch(window), number: number, total: try fetchCount(descriptor), size: size)
  }

  /// All pages, one after the other.
  func pages<T: PersistentModel>(size: Int, of descriptor: FetchDescriptor<T>) throws -> [Page<T>] {
    let total = try fetchCount(descriptor)
    return try (0..<((total + size - 1) / size)).map { try page($0, size: size, of: descriptor) }
  }
}
