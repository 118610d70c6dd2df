import Foundation
import StoreConformance
import StrataCore
import StrataPostgres
import Testing

/// What every engine must do, on a server.
@Suite struct ServerConformanceTests {
  static let engine = ConformingEngine("PostgreSQL", abilities: Set(EngineAbility.allCases)) {
    PersistentStoreDescription(
      type: .postgres, url: try TestServer.required().url(TestServer.freshNamespace()))
  } discard: { description in
    if let url = description.url { try? PostgresStores.destroy(at: url) }
  }

  @Test("Each case", arguments: StoreConformance.cases)
  func conforms(_ testCase: ConformanceCase) throws {
    guard Self.engine.missing(for: testCase).isEmpty else { return }
    try Self.engine.run(testCase)
  }

  /// The same on tables whose names, and those of all columns, are the model's own.
  static let renamed = ConformingEngine("PostgreSQL, names of the model's", abilities: engine.abilities) {
    try engine.makeDescription()
  } adapt: { model in
    renameEverything(in: model)
  } discard: {
    engine.discard($0)
  }

  static func renameEverything(in model: ManagedObjectModel) {
    for entity in model.entities {
      let name = entity.name ?? ""
      if entity.superentity == nil { entity.userInfo = ["postgres.table": "T \"\(name)\""] }
      let inherited = Set(entity.superentity?.propertiesByName.keys.map { $0 } ?? [])
      for property in entity.properties where !inherited.contains(property.name) && !property.isTransient {
        switch property {
        case let relationship as RelationshipDescription where relationship.isToMany:
          // Only what is kept as links has a table of its own.
          guard relationship.inverseRelationship?.isToMany ?? true else { continue }
          let ends = [name, relationship.inverseRelationship?.entity?.name ?? ""].sorted()
          let keys = [property.name, relationship.inverseRelationship?.name ?? ""].sorted()
          property.userInfo = ["postgres.table": "L \(ends + keys)".prefix(60).description]
        case let composite as CompositeAttributeDescription: rename(composite.elements, "E \(property.name)")
        case is AttributeDescription, is RelationshipDescription:
          property.userInfo = ["postgres.column": "C.\(property.name) é"]
        default: break
        }
      }
    }
  }

  private static func rename(_ elements: [AttributeDescription], _ path: String) {
    for element in elements {
      if let inner = element as? CompositeAttributeDescription {
        rename(inner.elements, "\(path) \(element.name)")
      } else {
        element.userInfo = ["postgres.column": "\(path) \(element.name)"]
      }
    }
  }

  /// Every third case, since each makes tables of its own; each with `STRATA_LONG_TESTS=1`.
  static let renamedCases: [ConformanceCase] = {
    if ProcessInfo.processInfo.environment["STRATA_LONG_TESTS"] == "1" { return StoreConformance.cases }
    return StoreConformance.cases.enumerated().filter { $0.offset.isMultiple(of: 3) }.map(\.element)
  }()

  @Test("Cases, with names of the model's", arguments: renamedCases)
  func conformsWithNamesOfTheModel(_ testCase: ConformanceCase) throws {
    guard Self.renamed.missing(for: testCase).isEmpty else { return }
    try Self.renamed.run(testCase)
  }
}
