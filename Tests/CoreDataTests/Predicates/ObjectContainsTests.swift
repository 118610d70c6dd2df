import CoreData
import Testing

/// `CONTAINS` with one object on each side, as sub-queries in programs have it.
@Suite("One object contains another when it is the same")
struct ObjectContainsTests {
  private let context: NSManagedObjectContext
  private let wren: Bird
  private let hill: Site
  private let lark: Bird

  /// Saved birds, and the lark on the hill, both unsaved.
  init() throws {
    context = try BirdStand().stocked()
    hill = Site(context: context)
    hill.name = "Hill"
    lark = BirdStand.bird("lark", 1, 0.1, hill, context)
    let request = NSFetchRequest<Bird>(entityName: "Bird")
    request.predicate = NSPredicate(format: "name == 'wren'")
    wren = try #require(try context.fetch(request).first)
  }

  /// What a fetch finds, and what the predicate says of each object in memory.
  private func check(
    _ entity: String, _ format: String, _ argument: Any, _ expected: [String],
    _ location: SourceLocation = #_sourceLocation
  ) throws {
    let predicate = NSPredicate(format: format, argumentArray: [argument])
    let request = NSFetchRequest<NSManagedObject>(entityName: entity)
    request.sortDescriptors = [NSSortDescriptor(key: "name", ascending: true)]
    let all = try context.fetch(request)
    request.predicate = predicate
    let found = try context.fetch(request)
    func names(_ objects: [NSManagedObject]) -> [String] {
      objects.compactMap { $0.value(forKey: "name") as? String }
    }
    #expect(names(found) == expected, "\(format), fetched", sourceLocation: location)
    let matching = all.filter { predicate.evaluate(with: $0) }
    #expect(names(matching) == expected, "\(format), in memory", sourceLocation: location)
  }

  @Test("In a sub-query, for the object of the predicate, and behind a to-one relationship")
  func constants() throws {
    try check("Site", "SUBQUERY(birds, $x, $x CONTAINS %@).@count == 0", wren, ["Hill", "Lake"])
    try check("Site", "SUBQUERY(birds, $x, $x CONTAINS %@).@count == 0", wren.objectID, ["Hill", "Lake"])
    try check("Site", "SUBQUERY(birds, $x, $x CONTAINS %@).@count > 0", lark, ["Hill"])
    try check("Site", "ANY birds CONTAINS %@", wren, ["Wood"])
    try check("Bird", "SELF CONTAINS %@", wren, ["wren"])
    try check("Bird", "site CONTAINS %@", hill, ["lark"])
    try check(
      "Site", "SUBQUERY(birds, $x, $x.site CONTAINS SELF AND $x.name != %@).@count > 0", "lark",
      ["Lake", "Wood"])
  }

  @Test("A list on the left side stays a list")
  func lists() throws {
    try check("Site", "birds CONTAINS %@", lark, ["Hill"])
    try check("Bird", "%@ CONTAINS SELF", [wren, lark], ["lark", "wren"])
  }
}
