import Foundation
import Strata
import Testing

/// Every attribute type, through typed accessors and by key, saved and read again (section S).
struct AttributeTests {
  let store: TemporaryStore
  let context: ManagedObjectContext

  init() throws {
    store = try TemporaryStore()
    context = store.context()
  }

  /// A value by key goes in, is saved, and is read by another context; nil when it came back as nil.
  private func roundTrip(_ key: String, _ value: Any?) throws -> Any? {
    let sample = Sample(context: context)
    sample[key] = value
    try context.save()
    let reader = store.context()
    let read = try #require(try reader.existingObject(with: sample.objectID) as? Sample)
    return read[key]
  }

  /// Sets up a sample, saves it, and gives another context's object for it.
  private func saved(_ fill: (Sample) -> Void) throws -> (Sample, ManagedObjectContext) {
    let sample = Sample(context: context)
    fill(sample)
    try context.save()
    let reader = store.context()
    return (try #require(try reader.existingObject(with: sample.objectID) as? Sample), reader)
  }

  @Test("rule 333: type numbers are Core Data's")
  func typeNumbers() {
    let numbers: [(AttributeType, Int)] = [
      (.undefined, 0), (.integer16, 100), (.integer32, 200), (.integer64, 300), (.decimal, 400),
      (.double, 500),
      (.float, 600), (.string, 700), (.boolean, 800), (.date, 900), (.binaryData, 1000), (.uuid, 1100),
      (.uri, 1200), (.transformable, 1800), (.objectID, 2000), (.composite, 2100),
    ]
    for (type, number) in numbers { #expect(Int(type.rawValue) == number) }
  }

  @Test("rule 333: every type through its typed accessors: before the save, after it, and in another context")
  func everyTypeThroughAccessors() throws {
    let date = Date(timeIntervalSinceReferenceDate: 765_432_198.123_456)
    let (uuid, uri) = (UUID(), try #require(URL(string: "https://example.org/a%20b?c=ä#d")))
    let decimal = try #require(Decimal(string: "-12345678901234567890.123456789"))
    func check(_ sample: Sample, _ place: String) {
      #expect(sample.int16 == -32_768, "\(place)")
      #expect(sample.int32 == .max, "\(place)")
      #expect(sample.int64 == .min, "\(place)")
      #expect(sample.decimal == decimal, "\(place)")
      #expect(sample.double == -0.1, "\(place)")
      #expect(sample.float == 3.25, "\(place)")
      #expect(sample.string == "Grüße 🏄 \u{0} end", "\(place)")
      #expect(sample.boolean, "\(place)")
      #expect(sample.date == date, "\(place)")
      #expect(sample.data == Data([0, 255, 1, 0]), "\(place)")
      #expect(sample.uuid == uuid, "\(place)")
      #expect(sample.uri == uri, "\(place)")
    }
    let sample = Sample(context: context)
    sample.int16 = -32_768
    sample.int32 = .max
    sample.int64 = .min
    sample.decimal = decimal
    sample.double = -0.1
    sample.float = 3.25
    sample.string = "Grüße 🏄 \u{0} end"
    sample.boolean = true
    sample.date = date
    sample.data = Data([0, 255, 1, 0])
    sample.uuid = uuid
    sample.uri = uri
    check(sample, "unsaved")
    try context.save()
    check(sample, "saved")
    let reader = store.context()
    let read = try #require(try reader.existingObject(with: sample.objectID) as? Sample)
    check(read, "read")
    read.int16 = 1
    read.int16 = -32_768
    check(read, "edited")
    try reader.save()
    context.refresh(sample, mergeChanges: false)
    check(sample, "refreshed")
    let again = try store.reopened()
    let sampleAgain = try #require(
      try again.context().fetch(FetchRequest<Sample>(entityName: "Sample")).first { $0.int16 == -32_768 })
    check(sampleAgain, "reopened")
  }

  @Test("rule 333: every type by key, with values at the edges of the type")
  func everyTypeByKey() throws {
    func check<T: Equatable>(_ key: String, _ values: [T]) throws {
      for value in values { #expect(try roundTrip(key, value) as? T == value, "\(key) \(value)") }
    }
    try check("int16", [Int64(Int16.min), -1, 0, 1, Int64(Int16.max)])
    try check("int32", [Int64(Int32.min), -1, 0, 1, Int64(Int32.max)])
    try check("int64", [Int64.min, -1, 0, 1, Int64.max])
    try check(
      "double", [-Double.greatestFiniteMagnitude, -0.1, 0, .leastNonzeroMagnitude, .infinity, -.infinity])
    try check("float", [-Float.greatestFiniteMagnitude, -0.1, 0, .leastNonzeroMagnitude, .infinity])
    try check("string", ["", "a", "\u{0}", "Straße", String(repeating: "ä", count: 5_000)])
    try check("boolean", [true, false])
    try check("date", [Date.distantPast, Date(timeIntervalSinceReferenceDate: 0.000_001), .distantFuture])
    try check("data", [Data(), Data([0]), Data(repeating: 7, count: 100_000)])
    try check("uuid", [UUID(), UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0))])
    try check("uri", [try #require(URL(string: "x:")), try #require(URL(string: "file:///tmp/a%20b"))])
    try check("decimal", [Decimal(0), Decimal(-1), try #require(Decimal(string: "0.1"))])
  }

  @Test("rule 333: nil goes through every type")
  func nilGoesThroughEveryType() throws {
    for slot in Sample.Slot.allCases {
      #expect(try roundTrip(slot.stringValue, nil) == nil, "\(slot)")
    }
    let (read, reader) = try saved {
      $0.string = "x"
      $0.int64 = 1
    }
    read.string = nil
    read.optionalInt64 = nil
    try reader.save()
    let again = try #require(try store.context().existingObject(with: read.objectID) as? Sample)
    #expect(again.string == nil && again.optionalInt64 == nil)
  }

  @Test("rule 345: nil reads as zero or false through scalar accessors; the optional ones distinguish them")
  func nilReadsAsZero() throws {
    let (empty, _) = try saved { _ in }
    #expect(empty.int16 == 0 && empty.int32 == 0 && empty.int64 == 0)
    #expect(empty.double == 0 && empty.float == 0 && !empty.boolean)
    #expect(empty.optionalInt16 == nil && empty.optionalInt32 == nil && empty.optionalInt64 == nil)
    #expect(empty.optionalDouble == nil && empty.optionalFloat == nil && empty.optionalBoolean == nil)
    let (zero, _) = try saved {
      $0.int16 = 0
      $0.optionalInt32 = 0
      $0.optionalInt64 = 0
      $0.optionalDouble = 0
      $0.optionalFloat = 0
      $0.optionalBoolean = false
    }
    #expect(zero.optionalInt16 == 0 && zero.optionalInt32 == 0 && zero.optionalInt64 == 0)
    #expect(zero.optionalDouble == 0 && zero.optionalFloat == 0 && zero.optionalBoolean == false)
  }

  @Test("rule 347: a decimal keeps its exact value, a date its fractions of a second")
  func decimalsAndDatesAreExact() throws {
    for text in [
      "0.1", "123456789012345678901234567890.12345678", "-0.000000000000000000000000000001", "1e100",
    ] {
      let value = try #require(Decimal(string: text))
      #expect(try roundTrip("decimal", value) as? Decimal == value, "\(text)")
    }
    #expect((try roundTrip("decimal", Decimal.nan) as? Decimal)?.isNaN == true)
    let date = Date(timeIntervalSinceReferenceDate: 765_432_198.987_654_3)
    #expect((try roundTrip("date", date) as? Date)?.timeIntervalSinceReferenceDate == 765_432_198.987_654_3)
  }

  @Test("rule 333: NaN and negative zero are read as they were written")
  func unusualNumbers() throws {
    let (read, _) = try saved {
      $0.double = .nan
      $0.float = -0.0
    }
    #expect(read.double.isNaN)
    #expect(read.float == 0 && read.float.sign == .minus)
  }

  @Test("rule 75: setting NaN over NaN changes nothing")
  func nanIsTheSameAsNaN() throws {
    let (read, _) = try saved { $0.double = .nan }
    read.double = .nan
    #expect(!read.hasPersistentChangedValues)
  }

  @Test("rule 225: numbers of any kind are taken by key where they fit exactly")
  func numbersOfAnyKindFit() throws {
    let sample = Sample(context: context)
    sample["int16"] = 7
    sample["int32"] = Int16(7)
    sample["int64"] = UInt8(7)
    sample["double"] = 7
    sample["float"] = 0.5
    sample["decimal"] = 7
    sample["boolean"] = NSNumber(value: true)
    try context.save()
    #expect(sample.int16 == 7 && sample.int32 == 7 && sample.int64 == 7)
    #expect(sample.double == 7 && sample.float == 0.5 && sample.decimal == 7 && sample.boolean)
  }

  @Test(
    "rule 344: values of every size, in the row and outside it",
    arguments: [0, 1, 1_023, 1_024, 1_025, 70_000, 3_000_000])
  func valuesOfEverySize(_ size: Int) throws {
    let bytes = Data((0..<size).map { UInt8(truncatingIfNeeded: $0 &* 31) })
    let text = String(repeating: "x", count: size)
    let (read, reader) = try saved {
      $0.data = bytes
      $0.string = text
    }
    #expect(read.data == bytes && read.string == text)
    read.data = Data(bytes.reversed())
    try reader.save()
    let third = store.context()
    let again = try #require(try third.existingObject(with: read.objectID) as? Sample)
    #expect(again.data == Data(bytes.reversed()) && again.string == text)
    #expect(read.data == Data(bytes.reversed()))
  }

  @Test("rule 344: many large values in one row")
  func manyLargeValuesInOneRow() throws {
    let uri = try #require(URL(string: "https://example.org/" + String(repeating: "u", count: 30_000)))
    let (read, reader) = try saved {
      $0.string = String(repeating: "s", count: 40_000)
      $0.data = Data(repeating: 1, count: 50_000)
      $0.uri = uri
    }
    #expect(read.string?.count == 40_000 && read.data?.count == 50_000 && read.uri == uri)
    #expect(read.managedObjectContext === reader)
  }

  @Test("rule 344: a large value is found by predicates and sorts like any other")
  func largeValuesInFetches() throws {
    let writer = context
    for letter in ["c", "a", "b"] {
      Entry.make(String(repeating: letter, count: 3_000), in: writer).notes = String(
        repeating: letter, count: 9_000)
    }
    try writer.save()
    let reader = store.context()
    #expect(try reader.entries().map { $0.location?.first } == ["a", "b", "c"])
    let found = try reader.entries(Attribute("notes") == String(repeating: "b", count: 9_000))
    #expect(found.map { $0.location?.first } == ["b"])
    #expect(try reader.entries(Attribute("notes").endsWith("cc")).count == 1)
    found[0].notes = String(repeating: "z", count: 9_000)
    #expect(try reader.entries(Attribute("notes").beginsWith("zz")) == found)
  }

  @Test("rules 193, 59: a large value that was not read survives edits of others, refresh and rollback")
  func untouchedLargeValuesSurvive() throws {
    let bytes = Data(repeating: 9, count: 20_000)
    let (read, reader) = try saved { $0.data = bytes }
    read.int64 = 1
    try reader.save()
    #expect(read.data == bytes)
    read.data = nil
    reader.rollback()
    #expect(read.data == bytes)
    read.data = Data([1])
    reader.refresh(read, mergeChanges: false)
    #expect(read.data == bytes)
    #expect(read.committedValues(forKeys: ["data"])["data"] as? Data == bytes)
  }

  @Test(
    "contexts 10: a large value replaced elsewhere reads as the new one or as nil, never as something else")
  func largeValueReplacedElsewhere() throws {
    let (read, reader) = try saved { $0.data = Data(repeating: 1, count: 20_000) }
    let writer = store.context()
    (try writer.existingObject(with: read.objectID) as? Sample)?.data = Data(repeating: 2, count: 30_000)
    try writer.save()
    let seen = read.data
    #expect(
      seen == nil || seen == Data(repeating: 2, count: 30_000) || seen == Data(repeating: 1, count: 20_000))
    reader.refresh(read, mergeChanges: true)
    #expect(read.data == Data(repeating: 2, count: 30_000))
  }

  // MARK: Transient attributes

  @Test("rule 334: a transient attribute of undefined type holds anything")
  func undefinedTransientsHoldAnything() throws {
    let entry = Entry.make("Bells", in: context)
    entry["scratch"] = [1, 2, 3]
    #expect(entry["scratch"] as? [Int] == [1, 2, 3])
    entry["scratch"] = "text"
    #expect(entry["scratch"] as? String == "text")
    entry["scratch"] = nil
    #expect(entry["scratch"] == nil)
    try context.save()
  }

  @Test("rule 71: transient values are not stored")
  func transientsAreNotStored() throws {
    let entry = Entry.make("Bells", in: context)
    entry.mood = "stoked"
    try context.save()
    #expect(entry.mood == "stoked" && entry["mood"] as? String == "stoked")
    let read = try store.context().entry("Bells")
    #expect(read.mood == nil && read["mood"] == nil)
  }

  @Test(
    "rule 57: a transient attribute's default shows in a new object, through accessor and key"
  )
  func transientDefault() throws {
    let diary = Diary(context: context)
    #expect(diary.tide == "low" && diary["tide"] as? String == "low")
    diary.tide = "high"
    #expect(diary.tide == "high" && diary["tide"] as? String == "high")
    try context.save()
    #expect(diary.tide == "high" && diary["tide"] as? String == "high")
    diary.tide = nil
    #expect(diary.tide == nil && diary["tide"] == nil)
  }

  @Test("rules 72, 73: transient attributes are in neither changedValues nor committedValues")
  func transientsAreNoPersistentChanges() throws {
    let entry = Entry.make("Bells", in: context)
    try context.save()
    entry.mood = "stoked"
    #expect(entry.changedValues()["mood"] == nil)
    #expect(entry.committedValues(forKeys: ["mood", "location"]).keys.sorted() == ["location"])
    #expect(entry.primitiveValue(forKey: "mood") as? String == "stoked")
  }

  @Test("rule 225: a transient attribute with a type takes only that type")
  func typedTransientTraps() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let container = try makeDoomedContainer()
      let context = ManagedObjectContext(.confinement, coordinator: container.persistentStoreCoordinator)
      Entry.make("Bells", in: context)["mood"] = 7
    }
    expectTrap(result, says: "Entry.mood", "string")
  }

  // MARK: Entities without a class, inheritance

  @Test("rule 80: an entity without a class is used by key")
  func entityWithoutAClass() throws {
    let entity = try #require(store.container.managedObjectModel.entitiesByName["Note"])
    let note = ManagedObject(entity: entity, insertInto: context)
    note["key"] = "a"
    note["text"] = "b"
    try context.save()
    let reader = store.context()
    let read = try #require(try reader.fetch(FetchRequest<ManagedObject>(entityName: "Note")).first)
    #expect(read["key"] as? String == "a" && read["text"] as? String == "b")
    #expect(type(of: read) == ManagedObject.self)
    read["text"] = "c"
    try reader.save()
    context.refresh(note, mergeChanges: false)
    #expect(note.value(forKey: "text") as? String == "c")
  }

  @Test("rule 317: inherited attributes come first and are shared by every subentity's rows")
  func inheritedAttributes() throws {
    let cove = HiddenBeach("Cove", in: context)
    cove.latitude = -38.3
    cove.sand = "gold"
    cove.secret = "path"
    let reef = Reef("Winki", in: context)
    reef.depth = 3.5
    try context.save()
    let reader = store.context()
    let read = try #require(try reader.existingObject(with: cove.objectID) as? HiddenBeach)
    #expect(read.name == "Cove" && read.latitude == -38.3 && read.sand == "gold" && read.secret == "path")
    #expect((try reader.existingObject(with: reef.objectID) as? Reef)?.depth == 3.5)
    let north = try reader.fetch(
      FetchRequest<Spot>(
        entityName: "Spot", predicate: Attribute("latitude") < 0, sortDescriptors: [FetchSort("name")]))
    #expect(north == [read])
  }

  @Test("rule 346: fetch indexes change no answer, also while rows change under them")
  func indexesChangeNoAnswer() throws {
    var dice = Dice(seed: 0xF00D)
    print("indexes change no answer: seed \(dice.seed)")
    var entries: [Entry] = []
    for _ in 0..<300 {
      entries.append(
        Entry.make(dice.word(), rating: Int16(dice.roll(6)), height: Double(dice.roll(9)), in: context))
    }
    for _ in 0..<15 {
      try context.save()
      let (rating, height, word) = (Int16(dice.roll(6)), Double(dice.roll(9)), dice.word())
      let reader = store.context()
      #expect(
        try reader.entries(Attribute("rating") == rating && Attribute("height") > height).count
          == entries.count { $0.rating == rating && $0.height > height })
      #expect(
        try reader.entries(Attribute("location").beginsWith(word)).count
          == entries.count { Array($0.location?.utf8 ?? "".utf8).starts(with: Array(word.utf8)) })
      for entry in entries where dice.roll(5) == 0 { entry.rating = Int16(dice.roll(6)) }
      context.delete(entries.remove(at: dice.roll(entries.count)))
    }
  }

  @Test(
    "rule 42: objects describe themselves whatever their dates are, also dates Foundation cannot describe")
  func oddDatesAreDescribed() throws {
    let store = try TemporaryStore()
    let context = store.context()
    for seconds in [Double.nan, .infinity, -.infinity, 1e300, -1e300, 0] {
      let entry = Entry.make("odd", in: context)
      entry.day = Date(timeIntervalSinceReferenceDate: seconds)
      #expect(entry.description.contains("day: "), "\(seconds)")
    }
    #expect(try context.entries().last?.description.contains("2001-01-01") == true)
  }
}
