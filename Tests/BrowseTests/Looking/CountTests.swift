import Foundation
import Strata
import StrataCommand
import Testing
import TortureKit
import struct StrataCore.Mutex

/// The numbers beside the entities: right after every save, and not counted anew at each.
@Suite struct CountTests {
  private static let kinds = ["Animal", "Dog", "Puppy", "Cat"]

  private static func model() -> ManagedObjectModel {
    let entities = kinds.map { EntityDescription($0) }
    entities[0].properties = [AttributeDescription("name", .string)]
    entities[0].subentities = [entities[1], entities[3]]
    entities[1].subentities = [entities[2]]
    let alone = EntityDescription("House")
    alone.properties = [AttributeDescription("street", .string)]
    return ManagedObjectModel(entities: entities + [alone])
  }

  private static func answer(_ browser: StoreBrowser, _ name: String, _ body: String = "") throws -> [String:
    Any]
  {
    let answers = Mutex<[BrowseAnswer]>([])
    browser.answer(BrowseRequest(name: name, body: Array(body.utf8), isPost: !body.isEmpty)) { answer in
      answers.withLock { $0.append(answer) }
    }
    let answer = try #require(answers.withLock { $0.first })
    #expect(answer.status == 200, "\(String(decoding: answer.body, as: UTF8.self))")
    return try #require(try JSONSerialization.jsonObject(with: Data(answer.body)) as? [String: Any])
  }

  /// With and without subentities, by the entity.
  private static func counts(_ browser: StoreBrowser) throws -> [String: [Int]] {
    let entities = try #require(try answer(browser, "begin")["entities"] as? [[String: Any]])
    return Dictionary(
      uniqueKeysWithValues: try entities.map {
        (
          try #require($0["name"] as? String),
          [try #require($0["count"] as? Int), try #require($0["exactCount"] as? Int)]
        )
      })
  }

  private static func expected(_ coordinator: PersistentStoreCoordinator) throws -> [String: [Int]] {
    let context = ManagedObjectContext(.privateQueue, coordinator: coordinator)
    return try context.performAndWait {
      try Dictionary(
        uniqueKeysWithValues: (kinds + ["House"]).map { name in
          var request = FetchRequest<ManagedObject>(entityName: name)
          let all = try context.count(for: request)
          request.includesSubentities = false
          return (name, [all, try context.count(for: request)])
        })
    }
  }

  @Test func countsFollowEverySave() throws {
    let folder = try ScratchFolder()
    let coordinator = PersistentStoreCoordinator(managedObjectModel: Self.model())
    try coordinator.addPersistentStore(
      PersistentStoreDescription(url: URL(fileURLWithPath: folder("Zoo.strata"))))
    let seed =
      ProcessInfo.processInfo.environment["STRATA_SEED"].flatMap(UInt64.init) ?? .random(in: 0 ... .max)
    print("seed \(seed)")
    var generator = SeededGenerator(seed: seed)
    let context = ManagedObjectContext(.privateQueue, coordinator: coordinator)
    func save() throws {
      try context.performAndWait {
        for _ in 0..<Int.random(in: 1...8, using: &generator) {
          // There are some to choose from.
          let name = (Self.kinds + ["House"]).randomElement(using: &generator)!
          if Int.random(in: 0..<3, using: &generator) == 0 {
            let all = try context.fetch(FetchRequest<ManagedObject>(entityName: name))
            if let object = all.randomElement(using: &generator) { context.delete(object) }
          } else {
            _ = try EntityDescription.insertNewObject(forEntityName: name, into: context)
          }
        }
        try context.save()
      }
    }
    try save()
    let browser = try StoreBrowser(folder("Zoo.strata"), writes: true)
    #expect(try Self.counts(browser) == Self.expected(coordinator))
    #expect(browser.countingWalks == 1)
    for round in 0..<60 {
      for _ in 0..<Int.random(in: 0...3, using: &generator) { try save() }
      #expect(try Self.counts(browser) == Self.expected(coordinator), "seed \(seed), round \(round)")
    }
    #expect(browser.countingWalks == 1, "what others save is told by what they have made and deleted")
    let space = try #require(try Self.answer(browser, "space")["objects"] as? [String: Int])
    #expect(try space == Self.expected(coordinator).mapValues { $0[1] }, "seed \(seed)")
    #expect(browser.countingWalks == 1, "the figures of the space use the same numbers")
    // What the page saves itself is counted anew, once.
    _ = try Self.answer(browser, "edit", #"{"kind":"insert","entity":"Puppy"}"#)
    _ = try Self.answer(browser, "save", "{}")
    for _ in 0..<3 { #expect(try Self.counts(browser) == Self.expected(coordinator), "seed \(seed)") }
    #expect(browser.countingWalks == 2)
  }
}
