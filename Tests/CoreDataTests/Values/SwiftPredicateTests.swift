import CoreData
import Testing

/// An object that no model knows.
private final class Stone: NSObject {
  let name: String?

  init(_ name: String?) { self.name = name }
}

@Suite("NSPredicate of a #Predicate: its text, and nil that is forced")
struct SwiftPredicateTests {
  private let context: NSManagedObjectContext
  private let stand: BirdStand

  init() throws {
    stand = try BirdStand()
    context = try stand.stocked()
    BirdStand.bird(nil, 7, 1, nil, context)
    try context.save()
  }

  private func birds(_ predicate: NSPredicate?) throws -> Set<NSManagedObjectID> {
    let request = NSFetchRequest<Bird>(entityName: "Bird")
    request.predicate = predicate
    return Set(try context.fetch(request).map(\.objectID))
  }

  @Test("The text says the same by names, and is read back as the same")
  func texts() throws {
    let predicate = try #require(NSPredicate(#Predicate<Bird> { $0.tally > 4 && $0.site?.name == "Lake" }))
    let found = try birds(predicate)
    #expect(found.count == 1 && predicate.description.contains("tally > 4"))
    // Foundation's property `predicateFormat` is the same text, and deprecated on Linux.
    #expect(try birds(NSPredicate(format: predicate.description)) == found)
  }

  @Test("One that no store can say has a text that is no format string")
  func others() throws {
    let predicate = try #require(NSPredicate(#Predicate<Stone> { $0.name == "flint" }))
    #expect(predicate.description.hasPrefix("#Predicate("))
    #expect(predicate.evaluate(with: Stone("flint")) && !predicate.evaluate(with: Stone(nil)))
  }

  @Test("A comparison with a forced nil is false, as in a fetch")
  func forced() throws {
    let all = try context.fetch(NSFetchRequest<Bird>(entityName: "Bird"))
    let name = "wren"
    let predicates = [
      NSPredicate(#Predicate<Bird> { $0.name! == name }),
      NSPredicate(#Predicate<Bird> { $0.name! == name || $0.tally == 7 }),
      NSPredicate(#Predicate<Bird> { $0.site!.name == "Lake" }),
    ]
    for (place, predicate) in predicates.enumerated() {
      let predicate = try #require(predicate)
      let matching = Set(all.filter { predicate.evaluate(with: $0) }.map(\.objectID))
      #expect(try matching == birds(predicate), "\(place)")
      #expect(matching.count == [1, 2, 2][place], "\(place)")
    }
    let stones = try #require(NSPredicate(#Predicate<Stone> { $0.name! == "flint" }))
    #expect(stones.evaluate(with: Stone("flint")) && !stones.evaluate(with: Stone(nil)))
  }
}
