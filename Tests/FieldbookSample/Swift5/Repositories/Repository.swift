import SwiftData

/// What screens and services know of a store: not that it is SwiftData.
protocol Repository<Model> {
  associatedtype Model: PersistentModel
  var context: ModelContext { get }
  var defaultOrder: [SortDescriptor<Model>] { get }
}

enum RepositoryError: Error, Equatable {
  case notFound
  case emptyName
  case duplicateName(String)
  case invalidCoordinate
  case inUse(by: Int)
}

extension Repository {
  func all() throws -> [Model] {
    try context.fetch(FetchDescriptor<Model>(sortBy: defaultOrder))
  }

  func count() throws -> Int { try context.fetchCount(FetchDescriptor<Model>()) }

  func find(_ predicate: Predicate<Model>, limit: Int? = nil) throws -> [Model] {
    try context.all(where: predicate, sortBy: defaultOrder, limit: limit)
  }

  func model(_ identifier: PersistentIdentifier) throws -> Model {
    guard let model = try context.existing(Model.self, identifier) else { throw RepositoryError.notFound }
    return model
  }

  func add(_ model: Model) { context.insert(model) }

  func remove(_ model: Model) { context.delete(model) }

  func remove(_ identifiers: some Sequence<PersistentIdentifier>) throws {
    for identifier in identifiers { remove(try model(identifier)) }
  }

  /// Saves, and takes back everything when that fails.
  func commit() throws {
    do {
      try context.save()
    } catch {
      context.rollback()
      throw error
    }
  }

  /// The changes in one go: all of them or none.
  func transaction<Result>(_ changes: () throws -> Result) throws -> Result {
    var result: Result?
    do {
      try context.transaction { result = try changes() }
    } catch {
      context.rollback()
      throw error
    }
    guard let result else { throw RepositoryError.notFound }
    return result
  }
}
