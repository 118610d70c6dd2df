import Foundation
import Strata
import Testing

/// The first so many of a filtered list, in the order of an index that knows nothing of the filter.
@Suite struct OrderWithFilterTests {
  private static let count = 2_000

  private func stand() throws -> IndexStand {
    try IndexStand(
      Self.count,
      model: IndexStand.model(indexes: [FetchIndexDescription(name: "byBuilt", attributes: ["built"])]))
  }

  private func newest(
    _ entity: String = "Vessel", _ name: String? = nil, limit: Int = 5, offset: Int = 0,
    ascending: Bool = false
  ) -> FetchRequest<ManagedObject> {
    FetchRequest<ManagedObject>(
      entityName: entity, predicate: name.map { Attribute("name") == $0 },
      sortDescriptors: [FetchSort("built", ascending: ascending)], fetchLimit: limit, fetchOffset: offset)
  }

  /// Everything of an entity, in the order of primary keys.
  private struct Listed {
    var place: Int
    var name: String?
    var built: Date
    var id: ManagedObjectID

    static func all(_ entity: String, _ context: ManagedObjectContext) throws -> [Listed] {
      try context.fetch(FetchRequest<ManagedObject>(entityName: entity)).enumerated().map { place, object in
        Listed(
          place: place, name: object.value(forKey: "name") as? String,
          built: object.value(forKey: "built") as? Date ?? .distantPast, id: object.objectID)
      }
    }
  }

  /// What a plain filter and sort of everything make of a request.
  private func expected(
    _ all: [Listed], _ name: String?, limit: Int = .max, offset: Int = 0, ascending: Bool = false
  )
    -> [ManagedObjectID]
  {
    all.filter { name == nil || $0.name == name }
      .sorted { $0.built == $1.built ? $0.place < $1.place : ($0.built < $1.built) == ascending }
      .dropFirst(offset).prefix(limit).map(\.id)
  }

  @Test func theIndexIsWalkedUntilTheWindowIsFull() throws {
    let stand = try stand()
    let context = stand.context()
    try context.performAndWait {
      let explanation = try context.explain(newest("Vessel", "vessel 3"), .executing)
      #expect(explanation.indexName == "Vessel.byBuilt")
      #expect(explanation.description.contains("in the order of index Vessel.byBuilt, backwards"))
      #expect(explanation.description.contains("then name == \"vessel 3\""))
      #expect(explanation.stores[0].isOrdered)
      #expect(explanation.stores[0].execution?.hasScannedInstead == false)
      #expect((explanation.stores[0].execution?.rowsExamined ?? .max) < Self.count / 8)
      #expect(explanation.returned == 5)
      // Without a limit all rows are looked at anyway; an index that narrows comes first.
      #expect(try context.explain(newest("Vessel", "vessel 3", limit: 0)).isScan)
    }
  }

  /// Where few match, the walk is given up after an eighth of the entries.
  @Test func itIsGivenUpWhenTooManyArePassedOver() throws {
    let stand = try stand()
    let context = stand.context()
    try context.performAndWait {
      let all = try Listed.all("Vessel", context)
      for name in ["nobody", "vessel 22"] {
        let request = newest("Vessel", name, limit: name == "nobody" ? 1 : 200)
        let explanation = try context.explain(request, .executing)
        #expect(explanation.stores[0].execution?.hasScannedInstead == true)
        #expect(explanation.stores[0].execution?.rowsExamined == Self.count + Self.count / 8)
        #expect(
          try context.fetch(request).map(\.objectID)
            == expected(all, name, limit: request.fetchLimit))
      }
    }
  }

  /// Windows, identifiers, pages, subentities, and unsaved changes on two levels.
  @Test func resultsAreThoseOfAPlainFilterAndSort() throws {
    let stand = try stand()
    let parent = stand.context()
    let child = ManagedObjectContext(.privateQueue, parent: parent)
    func change(_ context: ManagedObjectContext, _ seed: Int) throws {
      try context.performAndWait {
        let all = try context.fetch(FetchRequest<ManagedObject>(entityName: "Vessel"))
        for (place, object) in all.enumerated() {
          if place % 40 == seed { object.setValue("vessel 3", forKey: "name") }
          if place % 97 == seed {
            object.setValue(Date(timeIntervalSinceReferenceDate: 990), forKey: "built")
          }
          if place % 61 == seed { context.delete(object) }
        }
        for number in 0..<10 { try IndexStand.make(seed * 10_000 + number * 23 + 3, context) }
        try context.obtainPermanentIDs(for: Array(context.insertedObjects))
      }
    }
    try requireSame(parent)
    try change(parent, 1)
    try requireSame(parent)
    try change(child, 2)
    try requireSame(child)
  }

  private func requireSame(_ context: ManagedObjectContext) throws {
    try context.performAndWait {
      for (entity, name) in [
        ("Vessel", "vessel 3"), ("Vessel", "vessel 22"), ("Ferry", nil), ("Ferry", "vessel 5"),
      ] {
        let all = try Listed.all(entity, context)
        for (limit, offset) in [(1, 0), (5, 3), (30, 0), (100, 40)] {
          for ascending in [true, false] {
            let request = newest(entity, name, limit: limit, offset: offset, ascending: ascending)
            let wanted = expected(all, name, limit: limit, offset: offset, ascending: ascending)
            #expect(
              try context.fetch(request).map(\.objectID) == wanted,
              "\(entity) \(name ?? "") \(limit) \(offset)")
            var identifiers = FetchRequest<ManagedObjectID>(entityName: entity)
            identifiers.predicate = request.predicate
            identifiers.sortDescriptors = request.sortDescriptors
            (identifiers.fetchLimit, identifiers.fetchOffset) = (limit, offset)
            // Identifiers of unsaved changes do not take part.
            if !context.hasChanges, context.parent == nil {
              #expect(try context.fetch(identifiers) == wanted)
            }
          }
        }
        var pages: [ManagedObjectID] = []
        var page = try context.fetchPage(newest(entity, name, limit: 0), size: 7)
        pages += page.results.map(\.objectID)
        while !page.isLast {
          page = try context.fetchPage(newest(entity, name, limit: 0), size: 7, after: page.continuation)
          pages += page.results.map(\.objectID)
        }
        #expect(pages == expected(all, name))
      }
    }
  }
}
