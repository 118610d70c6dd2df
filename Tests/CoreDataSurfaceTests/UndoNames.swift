import CoreData

private func globalsUndo() {
  _ = NSSecureUnarchiveFromDataTransformer.self
  _ = NSValueTransformerName.self
  _ = UndoManager.self
  _ = ValueTransformer.self
  let _: Int = NSUndoCloseGroupingRunLoopOrdering
  let _: String = NSUndoManagerGroupIsDiscardableKey
}

private func useNSSecureUnarchiveFromDataTransformer() {
  let _: [AnyClass] = NSSecureUnarchiveFromDataTransformer.allowedTopLevelClasses
}

private func useNSValueTransformerName(_ it: NSValueTransformerName) {
  _ = NSValueTransformerName.init(_:)
  _ = NSValueTransformerName.init(rawValue:)
  let _: NSValueTransformerName = NSValueTransformerName.isNilTransformerName
  let _: NSValueTransformerName = NSValueTransformerName.isNotNilTransformerName
  let _: NSValueTransformerName = NSValueTransformerName.keyedUnarchiveFromDataTransformerName
  let _: NSValueTransformerName = NSValueTransformerName.negateBooleanTransformerName
  let _: NSValueTransformerName = NSValueTransformerName.secureUnarchiveFromDataTransformerName
  let _: NSValueTransformerName = NSValueTransformerName.unarchiveFromDataTransformerName
  let _: String = it.rawValue
}

private func useUndoManager(_ it: UndoManager) {
  _ = UndoManager()
  _ = UndoManager.UserInfoKey.self
  _ = UndoManager.beginUndoGrouping
  _ = UndoManager.disableUndoRegistration
  _ = UndoManager.enableUndoRegistration
  _ = UndoManager.endUndoGrouping
  _ = UndoManager.redo
  _ = UndoManager.redoMenuTitle(forUndoActionName:)
  _ = UndoManager.setActionIsDiscardable(_:)
  _ = UndoManager.setActionName(_:)
  _ = UndoManager.undo
  _ = UndoManager.undoMenuTitle(forUndoActionName:)
  _ = UndoManager.undoNestedGroup
  _ = { (key: UndoManager.UserInfoKey) -> Any? in it.redoActionUserInfoValue(forKey: key) }
  _ = { (key: UndoManager.UserInfoKey) -> Any? in it.undoActionUserInfoValue(forKey: key) }
  _ = { (key: UndoManager.UserInfoKey) in it.setActionUserInfoValue(1, forKey: key) }
  it.registerUndo(withTarget: it) { $0.undo() }
  it.removeAllActions()
  it.removeAllActions(withTarget: it)
  let _: Bool = it.canRedo
  let _: Bool = it.canUndo
  let _: Bool = it.groupsByEvent
  let _: Bool = it.isRedoing
  let _: Bool = it.isUndoRegistrationEnabled
  let _: Bool = it.isUndoing
  let _: Bool = it.redoActionIsDiscardable
  let _: Bool = it.undoActionIsDiscardable
  let _: Int = it.groupingLevel
  let _: Int = it.levelsOfUndo
  let _: Int = it.redoCount
  let _: Int = it.undoCount
  let _: String = it.redoActionName
  let _: String = it.redoMenuItemTitle
  let _: String = it.undoActionName
  let _: String = it.undoMenuItemTitle
  let _: [RunLoop.Mode] = it.runLoopModes
}

private func useValueTransformer() {
  _ = ValueTransformer.allowsReverseTransformation
  _ = ValueTransformer.init(forName:)
  _ = ValueTransformer.reverseTransformedValue(_:)
  _ = ValueTransformer.setValueTransformer(_:forName:)
  _ = ValueTransformer.transformedValue(_:)
  _ = ValueTransformer.transformedValueClass
  _ = ValueTransformer.valueTransformerNames
}
