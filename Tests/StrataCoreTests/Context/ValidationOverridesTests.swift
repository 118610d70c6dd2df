import Testing

@testable import StrataCore

private class Silent: ManagedObject {
  override func willSave() {}
  override func validateForInsert() throws {}
}

private class TakesReference: Silent {
  override func validateValue(_ value: inout Any?, forKey key: String) throws { value = nil }
}

private class TakesPointer: ManagedObject {
  var own = 3
  override func validateValue(_ value: UnsafeMutablePointer<AnyObject?>, forKey key: String) throws {
    own += 1
  }
}

private final class Heir: TakesPointer {}

private final class TakesBoth: TakesPointer {
  override func validateValue(_ value: inout Any?, forKey key: String) throws { own += 2 }
}

private class HearsOfSaves: Silent {
  var own = 3
  override func didSave() { own += 3 }
}

private final class Inherits: HearsOfSaves {}

private final class HearsOfChanges: Silent {
  override func willChangeValue(forKey key: String) { super.willChangeValue(forKey: key) }
}

private class HearsAfterChanges: ManagedObject {
  var own = 3
  override func didChangeValue(forKey key: String) { own += 5 }
}

private final class HearsAfterwards: HearsAfterChanges {}

@Suite("Which validateValue(_:forKey:) a class overrides")
struct ValidationOverridesTests {
  /// Where nothing is found every class counts as one that overrides, and each save boxes every value.
  @Test("Overrides are found, inherited ones too; other functions are not taken for overrides")
  func found() {
    #expect(ValidationOverrides.of(ManagedObject.self) == [])
    #expect(ValidationOverrides.of(Silent.self) == [])
    #expect(ValidationOverrides.of(TakesReference.self) == .reference)
    #expect(ValidationOverrides.of(TakesPointer.self) == .pointer)
    #expect(ValidationOverrides.of(Heir.self) == .pointer)
    #expect(ValidationOverrides.of(TakesBoth.self) == [.reference, .pointer])
  }

  @Test("So are overrides of didSave()")
  func foundForSaves() {
    #expect(!DidSaveOverrides.contains(ManagedObject.self))
    #expect(!DidSaveOverrides.contains(Silent.self) && !DidSaveOverrides.contains(TakesBoth.self))
    #expect(DidSaveOverrides.contains(HearsOfSaves.self) && DidSaveOverrides.contains(Inherits.self))
  }

  @Test("So are overrides of willChangeValue(forKey:) and didChangeValue(forKey:)")
  func foundForChanges() {
    #expect(!ChangeOverrides.contains(ManagedObject.self) && !ChangeOverrides.contains(Silent.self))
    #expect(!ChangeOverrides.contains(TakesBoth.self) && !ChangeOverrides.contains(HearsOfSaves.self))
    #expect(ChangeOverrides.contains(HearsOfChanges.self) && ChangeOverrides.contains(HearsAfterwards.self))
  }
}
