import Foundation
import StrataModels
import Testing
import TortureKit

/// A class whose index has a condition that no index keeps.
private final class Refused: ManagedObject {
  static let pages = Slot<Refused, Int>("pages")
  override class var entityDeclaration: EntityDeclaration? {
    EntityDeclaration(
      Refused.self, [pages.attribute(default: 0, .indexed(where: Attribute("pages.count") > 1))])
  }
}

@Suite("User info and indexes of declarations")
struct IndexesAndNotesTests {
  private func models() throws -> [ManagedObjectModel] {
    [try ManagedObjectModel(for: Departure.self), try ManagedObjectModel(for: HandWrittenDeparture.self)]
  }

  @Test("User info comes to entities, attributes and relationships, and several say it together")
  func userInfo() throws {
    for model in try models() {
      let entity = try #require(model.entitiesByName["Departure"])
      #expect(entity.userInfo?["postgres.table"] as? String == "flights")
      #expect(entity.userInfo?["colour"] as? String == "red" && entity.userInfo?["rank"] as? Int == 7)
      #expect(entity.userInfo?.count == 3)
      let origin = entity.attributesByName["origin"]
      #expect(origin?.userInfo as? [String: String] == ["postgres.column": "from_airport"])
      #expect(entity.attributesByName["code"]?.userInfo?["shown"] as? Bool == true)
      #expect(
        entity.relationshipsByName["crew"]?.userInfo as? [String: String] == ["postgres.table": "flight_crew"]
      )
      #expect(entity.attributesByName["delay"]?.userInfo?.isEmpty == true)
    }
  }

  @Test("Indexes have a direction for each attribute, and a condition")
  func indexes() throws {
    for model in try models() {
      let entity = try #require(model.entitiesByName["Departure"])
      let found = Dictionary(
        uniqueKeysWithValues: entity.indexes.map { index in
          let elements = index.elements.map { "\($0.propertyName) \($0.isAscending ? "up" : "down")" }
          let condition = index.partialIndexPredicate.map { " where \($0)" } ?? ""
          return (index.name, elements.joined(separator: ", ") + condition)
        })
      #expect(
        found == [
          "board": "origin up, departure down", "byOriginDelay": "origin up, delay down",
          "late": "origin up, delay down where delay > 60 AND remark != nil",
          "byDelay": "delay up where delay > 0", "remarks": "remark down where remark != nil",
        ])
    }
  }

  @Test("Neither is part of version hashes, and macro and hand make the same model")
  func hashes() throws {
    let models = try models()
    #expect(models[0].entityVersionHashesByName == models[1].entityVersionHashesByName)
  }

  @Test("Fetches use the indexes, and a partial one has entries of its rows only")
  func used() async throws {
    let container = try await PersistentContainer(for: Departure.self, at: .inMemory)
    try await container.performBackgroundTask { context in
      for number in 0..<60 {
        let departure = Departure(context: context)
        departure.origin = number.isMultiple(of: 3) ? "JFK" : "BOS"
        departure.departure = Date(timeIntervalSinceReferenceDate: Double(number % 7))
        departure.delay = Int32(number * 2)
        departure.remark = number.isMultiple(of: 2) ? "remark" : nil
      }
      try context.save()
      var request = FetchRequest<Departure>(
        where: Attribute("origin") == "JFK", sortedBy: [.forward(\.origin), .reverse(\.departure)])
      request.fetchLimit = 3
      #expect(try context.explain(request).indexName == "Departure.board")
      #expect(try context.fetch(request).map(\.departure.timeIntervalSinceReferenceDate) == [6, 6, 6])
      let late = FetchRequest<Departure>(
        where: Attribute("origin") == "JFK" && Attribute("delay") > 60 && Attribute("remark") != nil,
        sortedBy: [.forward(\.origin), .reverse(\.delay)])
      #expect(try context.explain(late).indexName == "Departure.late")
      #expect(try context.fetch(late).map(\.delay) == [108, 96, 84, 72])
    }
    let coordinator = container.persistentStoreCoordinator
    let store = try #require(coordinator.persistentStores.first)
    let counts = Dictionary(
      uniqueKeysWithValues: try coordinator.indexes(in: store).map { ($0.name, $0.entryCount) })
    #expect(
      counts["late"] == 14 && counts["byDelay"] == 59 && counts["remarks"] == 30 && counts["board"] == 60)
  }

  @Test("A condition that no index keeps is refused when the model is taken into use")
  func refused() throws {
    let model = try ManagedObjectModel(for: Refused.self)
    let coordinator = PersistentStoreCoordinator(managedObjectModel: model)
    let error = #expect(throws: ModelError.self) { try coordinator.addPersistentStore(.inMemory) }
    #expect(error?.sentences.contains { $0.contains("byPages") } == true, "\(error?.sentences ?? [])")
  }
}
