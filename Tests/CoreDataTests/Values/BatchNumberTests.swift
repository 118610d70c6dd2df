import CoreData
import Testing

@Suite("Numbers that batches cut off, as setValue does")
struct BatchNumberTests {
  private let context: NSManagedObjectContext
  private let stand: BirdStand

  init() throws {
    stand = try BirdStand()
    context = try stand.stocked()
  }

  private func update(_ values: [String: Any]) throws {
    let request = NSBatchUpdateRequest(entityName: "Bird")
    request.propertiesToUpdate = values
    try context.execute(request)
    context.refreshAllObjects()
  }

  private func insert(_ values: [String: Any]) throws {
    try context.execute(NSBatchInsertRequest(entityName: "Bird", objects: [values]))
  }

  private func birds(_ format: String) throws -> Int {
    let request = NSFetchRequest<Bird>(entityName: "Bird")
    request.predicate = NSPredicate(format: format)
    return try context.count(for: request)
  }

  @Test("Fractions are cut off, and any number but 0 is true")
  func cut() throws {
    try insert(["name": "heron", "tally": NSNumber(value: -2.5), "isRare": 2])
    #expect(try birds("name == 'heron' AND tally == -2 AND isRare == YES") == 1)
    try update(["tally": 2.7, "isRare": NSNumber(value: 0.5)])
    #expect(try birds("tally == 2 AND isRare == YES") == 6)
  }

  @Test("What an expression gives is cut off, too, row by row; what is out of range, or none, names its row")
  func expressions() throws {
    func update(_ tally: String, _ isRare: String) throws {
      try self.update(["tally": NSExpression(format: tally), "isRare": NSExpression(format: isRare)])
    }
    try update("tally * 1.5", "tally + 0.5")
    // 7, 2, 3, 12 and 5 before.
    for tally in [10, 3, 4, 18, 7] { #expect(try birds("tally == \(tally) AND isRare == YES") == 1) }
    try update("0 - tally / 4.0", "0 * tally")
    // -2.5, -0.75, -1, -4.5 and -1.75.
    #expect(try birds("isRare == NO") == 5)
    for tally in [-2, 0, -4] { #expect(try birds("tally == \(tally)") == 1) }
    let large = #expect(throws: (any Error).self) {
      try update("(tally + 9) * 1e30", "1")
    }
    #expect(large?.localizedDescription.contains("cannot take") == true)
    #expect(large?.localizedDescription.contains("Bird.tally of p") == true)
    #expect(throws: (any Error).self) { try update("name", "1") }
    #expect(try birds("tally == -2") == 1)
  }

  @Test("A number that is out of range is refused, and the message names what the program gave")
  func refused() throws {
    let large = #expect(throws: (any Error).self) { try update(["tally": 1e30]) }
    #expect(large?.localizedDescription.contains("cannot take Double 1e+30") == true)
    let number = #expect(throws: (any Error).self) { try insert(["tally": NSNumber(value: 1e30)]) }
    #expect(number?.localizedDescription.contains("cannot take 1e+30") == true)
    let text = #expect(throws: (any Error).self) { try update(["tally": "many"]) }
    #expect(text?.localizedDescription.contains("cannot take String many") == true)
    #expect(try birds("tally > 0") == 5)
  }
}
